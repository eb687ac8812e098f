// Sends a conversation with sound as Chat Completions, the protocol that has it. Loads with the first such message.

import { type Answer, type Block, blocksToSend, emptyAnswer } from './answer.ts';
import type { PlaygroundSettings, Turn } from './request.ts';
import { post, readRejection, type Sent } from './send-message.ts';

interface SoundRequest {
  baseUrl: string;
  key: string;
  settings: PlaygroundSettings;
  turns: readonly Turn[];
  isSpoken: boolean;
  signal: AbortSignal;
}

interface ChatAnswer {
  choices: {
    message: { content?: string | null; audio?: { data: string; transcript: string } | null };
    finish_reason: string;
  }[];
}

const SPOKEN = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } };

/** Rejects with MessageRejected. */
export async function sendSound({ baseUrl, key, settings, turns, isSpoken, signal }: SoundRequest): Promise<Sent> {
  const sentAtMs = performance.now();
  const { model, maxTokens, temperature, system } = settings;
  const body = {
    model,
    max_completion_tokens: maxTokens,
    ...(temperature !== '' && { temperature }),
    ...(isSpoken && SPOKEN),
    messages: [...(system.trim() === '' ? [] : [{ role: 'system', content: system }]), ...turns.map(messageOf)],
  };
  const response = await post(`${baseUrl}/v1/chat/completions`, key, body, signal);
  if (!response.ok) throw await readRejection(response);
  const requestId = response.headers.get('request-id');
  const answer = await response.json().then(
    (read: ChatAnswer): Answer => ({ ...emptyAnswer, model, ...contentOf(read), isComplete: true }),
    (cause): Answer => ({
      ...emptyAnswer,
      model,
      failure: signal.aborted ? null : { code: 'connection_broken', message: String(cause) },
    }),
  );
  return { answer, requestId, firstContentMs: null, totalMs: performance.now() - sentAtMs };
}

function contentOf({ choices: [choice] }: ChatAnswer): Pick<Answer, 'blocks' | 'stopReason'> {
  const { content, audio } = choice?.message ?? {};
  const text = audio?.transcript ?? content ?? '';
  const sound = { type: 'sound', source: { media_type: 'audio/wav', data: audio?.data } };
  return {
    blocks: [...(text === '' ? [] : [{ type: 'text', text }]), ...(audio ? [sound] : [])],
    stopReason: choice?.finish_reason === 'length' ? 'max_tokens' : 'end_turn',
  };
}

/** Without calls of tools and their results. */
function messageOf(turn: Turn): object {
  const blocks = turn.role === 'user' ? turn.content : blocksToSend(turn.answer);
  return { role: turn.role, content: blocks.flatMap(partOf) };
}

function partOf({ type, text, source }: Block): object[] {
  const { media_type: mediaType = '', data } = (source ?? {}) as { media_type?: string; data?: string };
  switch (type) {
    case 'text':
      return [{ type, text }];
    case 'image':
      return [{ type: 'image_url', image_url: { url: `data:${mediaType};base64,${data}` } }];
    case 'sound':
      return [{ type: 'input_audio', input_audio: { data, format: mediaType.includes('wav') ? 'wav' : 'mp3' } }];
    default:
      return [];
  }
}
