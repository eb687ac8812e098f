// Reranking in the shapes of Cohere and Jina, which are one: the answer has the members of both.

import { isWholeNumber } from '../../base/checked-number.ts';
import { bounds } from '../../config/config.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  requireText,
  type Units,
  unitsOf,
  wrongField,
} from '../../wire/wire.ts';
import { frontOfUse } from '../other-use.ts';

/** The fields that are read, and first parts of the path of an error. */
export const FIELDS: ReadonlySet<string> = new Set([
  'body',
  'documents',
  'max_tokens_per_doc',
  'model',
  'query',
  'return_documents',
  'top_n',
  'truncation',
]);

export const rerank = frontOfUse({
  protocol: 'rerank',
  paths: ['/v1/rerank', '/v2/rerank', '/rerank'],
  fields: FIELDS,
  convert: convertRequest,
});

function convertRequest(body: JsonObject): { message: JsonObject; units: Units } {
  const { model = null, return_documents: returns = null } = body;
  if (returns !== null && typeof returns !== 'boolean')
    throw wrongField('return_documents', 'Input should be a valid boolean');
  const query = requireFilled(body['query'], 'query');
  const documents = readDocuments(body['documents']);
  const topN = readCount(body['top_n'], 'top_n');
  const tokensPerDocument = readCount(body['max_tokens_per_doc'], 'max_tokens_per_doc');
  return {
    message: {
      ...(model !== null && { model }),
      max_tokens: 0,
      messages: [{ role: 'user', content: [query, ...documents].map((text) => ({ type: 'text', text })) }],
      rerank: { top_n: topN, return_documents: returns === true, max_tokens_per_doc: tokensPerDocument },
    },
    units: unitsOf({ searches: searchesMost(query, documents) }),
  };
}

function requireFilled(value: JsonValue | undefined, path: string): string {
  if (value === undefined) throw wrongField(path, 'Field required');
  const text = requireText(value, path);
  if (text === '') throw wrongField(path, 'String should have at least 1 character');
  return text;
}

function readDocuments(value: JsonValue | undefined): string[] {
  if (value === undefined) throw wrongField('documents', 'Field required');
  if (!Array.isArray(value)) throw wrongField('documents', 'Input should be a valid list');
  if (value.length === 0) throw wrongField('documents', 'List should have at least 1 item');
  if (value.length > bounds.rerankDocumentsMax)
    throw wrongField('documents', `List should have at most ${bounds.rerankDocumentsMax} items`);
  return value.map((one, place) =>
    isJsonObject(one)
      ? requireText(one['text'] ?? null, `documents.${place}.text`)
      : requireText(one, `documents.${place}`),
  );
}

function readCount(value: JsonValue | undefined, path: string): number | null {
  if (value === undefined || value === null) return null;
  if (!isWholeNumber(value) || value === 0) throw wrongField(path, 'Input should be a positive integer');
  return value;
}

const DOCUMENTS_PER_SEARCH = 100;
const CHUNK_TOKENS = 500;

/**
 * The most searches that Cohere may count: one for each 100 documents, of which those with more than 500 tokens, with the query,
 * are several (https://docs.cohere.com/docs/rerank-overview, 30 November 2026). A token has at least a byte, and a query
 * at most half of a chunk.
 */
function searchesMost(query: string, documents: readonly string[]): number {
  const queryBytes = Math.min(Buffer.byteLength(query), CHUNK_TOKENS / 2);
  const chunks = documents.reduce(
    (sum, text) => sum + Math.max(1, Math.ceil(Buffer.byteLength(text) / (CHUNK_TOKENS - queryBytes))),
    0,
  );
  return Math.ceil(chunks / DOCUMENTS_PER_SEARCH);
}
