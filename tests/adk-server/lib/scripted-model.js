import { setTimeout as sleep } from 'node:timers/promises';
import { BaseLlm } from '@google/adk';

/**
 * A model without a network: a script computes its response from the conversation, so each run is repeatable.
 * The script gets `{text, turn, toolResult, files}`: the person's last text, the number of their message (from 1),
 * the result of a tool that just ran, and the inlineData of the last message. It returns a response, several, or a text.
 */
export class ScriptedModel extends BaseLlm {
  #script;

  constructor(name, script) {
    super({ model: `scripted-${name}` });
    this.#script = script;
  }

  async *generateContentAsync(request) {
    const said = await this.#script(readConversation(request.contents));
    for (const response of Array.isArray(said) ? said : [said]) {
      yield typeof response === 'string' ? say({ text: response }) : response;
    }
  }

  async connect() {
    throw new Error('The scripted model has no live connection.');
  }
}

/** A complete response with these parts. */
export function say(...parts) {
  return { content: { role: 'model', parts } };
}

function readConversation(contents) {
  const texts = contents
    .filter((content) => content.role === 'user')
    .map((content) => content.parts?.map((part) => part.text ?? '').join('') ?? '')
    // ADK reports the work of other agents as user content with this prefix.
    .filter((text) => text !== '' && !text.startsWith('For context:'));
  const lastPart = contents.at(-1)?.parts?.at(-1);
  const files = contents.at(-1)?.parts?.flatMap(({ inlineData }) => inlineData ?? []) ?? [];
  return { text: texts.at(-1) ?? '', turn: texts.length, toolResult: lastPart?.functionResponse, files };
}

/** Waits like a slow model. */
export async function think(ms) {
  await sleep(ms);
}
