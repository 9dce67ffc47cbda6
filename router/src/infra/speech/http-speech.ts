import { isVoiceNote, sendableFile } from '../../core/delivery/agent-file.ts';
import { MAX_MEDIA_BYTES, type ReplyFile } from '../../core/models.ts';
import { say } from '../../core/phrases.ts';
import type { VoiceSettings } from '../../core/policies/conversation-fields.ts';
import type { Speech, VoiceEncoder } from '../../core/ports/converters.ts';
import { type AudioServerDeps, askAudioServer, audioUrl } from './audio-server.ts';

const DEFAULT_MODEL = 'tts-1';
const DEFAULT_VOICE = 'alloy';

interface HttpSpeechDeps extends AudioServerDeps {
  /** For servers that answer with another format than the one that they are asked for. */
  encoder: VoiceEncoder;
}

/** Voice messages from an OpenAI-compatible server. */
export class HttpSpeech implements Speech {
  readonly #deps: HttpSpeechDeps;

  constructor(deps: HttpSpeechDeps) {
    this.#deps = deps;
  }

  async voiceNoteOf(
    text: string,
    { url, model = DEFAULT_MODEL, voice = DEFAULT_VOICE, headers = {} }: VoiceSettings,
    signal: AbortSignal | undefined,
  ): Promise<ReplyFile> {
    const request = {
      url: audioUrl(url, '/audio/speech'),
      headers: { ...headers, 'content-type': 'application/json' },
      body: new TextEncoder().encode(JSON.stringify({ model, voice, input: text, response_format: 'opus' })),
      ...{ maxBytes: MAX_MEDIA_BYTES, server: say('audio.speech-server'), setting: 'config.reply.voice' },
    };
    const { body } = await askAudioServer(this.#deps, request, signal);
    const isReady = body.length === 0 || isVoiceNote(body);
    return sendableFile('voice', {
      bytes: isReady ? body : await this.#deps.encoder.encode(body, signal),
    });
  }
}
