// The door of the fronts: the protocols that clients speak besides Messages. A front is a folder and a line here.

import type { Protocol } from '../wire/wire.ts';
import { chatCompletions } from './chat-completions/chat-completions.ts';
import { completions } from './completions/completions.ts';
import { embeddings } from './embeddings/embeddings.ts';
import type { Front, RequestHead } from './front.ts';
import { gemini, geminiEmbeddings, geminiImages } from './gemini/gemini.ts';
import { images } from './images/images.ts';
import { moderations } from './moderations/moderations.ts';
import { openAiError } from './openai-error.ts';
import { rerank } from './rerank/rerank.ts';
import { responses } from './responses/responses.ts';
import { speech } from './speech/speech.ts';
import { transcription } from './transcription/transcription.ts';

export { AnswerStream } from './answer-stream.ts';
export type { AnswerTranslator, FormKind, Front, Operation, RequestHead } from './front.ts';
export { OPENAI_RATE_HEADERS, openAiRateHeaders } from './openai-rate-headers.ts';
export { withClientPaths } from './origins.ts';
export { UNTRANSLATED } from './other-use.ts';
export { type TranslatedBody, translateBody, translateForm, translateToImages } from './translate-body.ts';

const FILE_FIELDS = new Set(['after', 'expires_after', 'file', 'limit', 'order', 'purpose']);
const BATCH_FIELDS = new Set(['after', 'completion_window', 'endpoint', 'input_file_id', 'limit', 'metadata']);

/** The first one that owns a request answers it. */
export const fronts: readonly Front[] = [
  chatCompletions,
  responses,
  embeddings,
  geminiEmbeddings,
  images,
  geminiImages,
  gemini,
  completions,
  rerank,
  moderations,
  speech,
  transcription,
];

/** The errors of OpenAI's files, which are no messages. */
export const openAiFiles: Front = {
  ...chatCompletions,
  errorBody: (error) => JSON.stringify({ error: openAiError(error, FILE_FIELDS) }),
};

/** The same for batches. */
export const openAiBatches: Front = {
  ...chatCompletions,
  errorBody: (error) => JSON.stringify({ error: openAiError(error, BATCH_FIELDS) }),
};

/** null: the Messages protocol, which is no front. */
export function frontOf(protocol: Protocol): Front | null {
  return fronts.find((front) => front.protocol === protocol) ?? null;
}

/** The front whose request it is; null: none. `path` is canonical. */
export function findFront(path: string, head: RequestHead): Front | null {
  return fronts.find((front) => front.owns(path, head)) ?? null;
}
