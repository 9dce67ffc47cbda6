import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';
import { ScriptedModel, say, think } from '../../lib/scripted-model.js';

const getWeather = new FunctionTool({
  name: 'get_weather',
  description: 'Weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 25, sky: 'sunny' }),
});

const broken = new FunctionTool({
  name: 'broken',
  description: 'Always fails.',
  execute: () => {
    throw new Error('tool exploded');
  },
});

const takeNote = new FunctionTool({
  name: 'take_note',
  description: 'Keeps a note in the session.',
  parameters: z.object({ note: z.string() }),
  execute: ({ note }, context) => {
    context?.state.set('note', note);
    return { kept: true };
  },
});

const billing = new LlmAgent({
  name: 'billing',
  description: 'Answers questions on invoices.',
  model: new ScriptedModel('billing', ({ text }) => `billing here: you said "${text}"`),
});

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Answers to texts that name a case; any other text is repeated with the number of its turn. */
const CASES = {
  weather: () => say({ text: 'Let me look that up. ' }, call('get_weather', { city: 'Lima' })),
  broken: () => say(call('broken', {})),
  note: () => say(call('take_note', { note: 'blue' })),
  unknowntool: () => say(call('no_such_tool', {})),
  billing: () => say(call('transfer_to_agent', { agentName: 'billing' })),
  think: () => say({ text: 'secret reasoning', thought: true }, { text: 'The answer is 42.' }),
  fail: () => {
    throw new Error('model exploded');
  },
  overloaded: () => {
    throw new Error('{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED"}}');
  },
  blocked: () => ({ errorCode: 'SAFETY', errorMessage: 'blocked by the safety settings' }),
  silent: () => say(),
  nothing: () => [],
  picture: () => say({ inlineData: { mimeType: 'image/png', data: PIXEL } }),
  cut: () => ({ ...say({ text: 'half an ans' }), finishReason: 'MAX_TOKENS' }),
  usage: () => ({
    ...say({ text: 'counted' }),
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1 },
  }),
};

function call(name, args) {
  return { functionCall: { name, args } };
}

async function script({ text, turn, toolResult, files }) {
  if (toolResult) return `${toolResult.name} said ${JSON.stringify(toolResult.response)}`;
  const [file] = files;
  if (file) {
    const size = Buffer.from(file.data, 'base64').length;
    return say({ text: `seen ${file.mimeType} of ${size} bytes, with "${text}"` }, { inlineData: file });
  }
  const slow = /^slow (\d+)/.exec(text);
  if (slow) await think(Number(slow[1]));
  const special = CASES[text.split(' ')[0]];
  return special ? special() : `turn ${turn}: you said "${text}"`;
}

export const rootAgent = new LlmAgent({
  name: 'front_desk',
  description: 'Answers people.',
  model: new ScriptedModel('front-desk', script),
  tools: [getWeather, broken, takeNote],
  subAgents: [billing],
});
