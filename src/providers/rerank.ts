// Reranking over the APIs of Cohere, Voyage and Jina, whose shape vLLM and Infinity share, and of TEI. The answer has one form.

import { isWholeNumber } from '../base/checked-number.ts';
import { countOf } from '../protocols/token-counts.ts';
import { type JsonObject, type JsonValue, jsonObjects, objectOf, textOf, unitsOf } from '../wire/wire.ts';
import { type Api, post } from './http-api.ts';
import { otherReply, usageOf } from './other-reply.ts';
import { readJson } from './parse-json.ts';
import { type Attempt, ProviderFault, type WholeReply } from './provider.ts';

export interface RerankRequest {
  query: string;
  documents: string[];
  /** null: all of them. */
  topN: number | null;
  returnsDocuments: boolean;
  tokensPerDocument: number | null;
}

export function readRerankRequest({ request }: Pick<Attempt, 'request'>): RerankRequest {
  const [message] = jsonObjects(request.body['messages']);
  const [query = '', ...documents] = jsonObjects(message?.['content']).map((block) => textOf(block['text']));
  const { top_n: topN, return_documents: returns, max_tokens_per_doc: tokens } = objectOf(request.body['rerank']);
  return {
    query,
    documents,
    topN: countOf(topN),
    returnsDocuments: returns === true,
    tokensPerDocument: countOf(tokens),
  };
}

/** `url` is that of OpenAI's form; servers without a version in their path get the request there instead. Throws ProviderFault. */
export async function requestRerank(api: Api, attempt: Attempt, url: string): Promise<WholeReply> {
  const asked = readRerankRequest(attempt);
  const response = await send(api, attempt, url, asked);
  const { value, upstreamRequestId } = await readJson(response, attempt.signal);
  const results = readResults(value, asked.documents.length);
  if (results === null)
    throw new ProviderFault('failed', 'the provider did not rank the documents', { upstreamRequestId });
  const { usage, meta } = objectOf(value);
  const billed = objectOf(objectOf(meta)['billed_units']);
  const searches = countOf(billed['search_units']);
  const tokens = countOf(objectOf(usage)['total_tokens']) || countOf(billed['input_tokens']) || null;
  return rerankReply(
    attempt,
    results,
    { tokens: tokens ?? (searches === null ? null : 0), searches },
    upstreamRequestId,
  );
}

async function send(api: Api, attempt: Attempt, url: string, asked: RerankRequest): Promise<Response> {
  const { query, documents, topN, tokensPerDocument } = asked;
  const { host, origin, pathname } = new URL(url);
  const [model, accept] = [attempt.upstreamModel, 'application/json'];
  const top = topN === null ? null : { [host.endsWith('voyageai.com') ? 'top_k' : 'top_n']: topN };
  const isCohere = /(?:^|\.)cohere\.(?:com|ai)$/.test(host);
  const body = {
    model,
    query,
    documents,
    ...top,
    ...(isCohere && tokensPerDocument !== null && { max_tokens_per_doc: tokensPerDocument }),
    ...attempt.extra,
  };
  try {
    return await post(api, attempt, url, JSON.stringify(body), accept);
  } catch (thrown) {
    const isMissing = thrown instanceof ProviderFault && (thrown.status === 404 || thrown.status === 405);
    if (!isMissing || !pathname.startsWith('/v1/')) throw thrown;
    // TEI (https://huggingface.github.io/text-embeddings-inference, 30 November 2026) and Infinity have no version in their paths.
    const atRoot = { ...body, texts: documents, truncate: true };
    return await post(api, attempt, `${origin}/rerank`, JSON.stringify(atRoot), accept);
  }
}

export interface Ranked {
  index: number;
  score: number;
}

/** In the provider's order; null unless each is a document of the request, and none is there twice. */
function readResults(value: JsonValue, documents: number): Ranked[] | null {
  const { results, data } = objectOf(value);
  const list = jsonObjects(Array.isArray(value) ? value : (results ?? data));
  const ranked = list.flatMap(({ index, relevance_score: relevance, score = relevance }): Ranked[] =>
    isWholeNumber(index) && index < documents && typeof score === 'number' ? [{ index, score }] : [],
  );
  const isWhole = ranked.length === list.length && new Set(ranked.map(({ index }) => index)).size === list.length;
  return isWhole && ranked.length > 0 ? ranked : null;
}

/** Documents that are counted as one search (https://docs.cohere.com/docs/rerank-overview, 30 November 2026). */
const DOCUMENTS_PER_SEARCH = 100;

/** `searches`: as reported; null: one for each 100 documents. */
export function rerankReply(
  attempt: Attempt,
  results: readonly Ranked[],
  { tokens, searches }: { tokens: number | null; searches: number | null },
  upstreamRequestId: string | null,
): WholeReply {
  const { documents, topN, returnsDocuments } = readRerankRequest(attempt);
  const counted = searches ?? Math.ceil(documents.length / DOCUMENTS_PER_SEARCH);
  const answer: JsonObject = {
    id: attempt.requestId,
    object: 'list',
    model: attempt.upstreamModel,
    results: results.slice(0, topN ?? results.length).map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(returnsDocuments && { document: { text: documents[index] ?? '' } }),
    })),
    usage: { total_tokens: tokens ?? 0 },
    meta: { api_version: { version: '2' }, billed_units: { search_units: counted } },
  };
  const units = unitsOf({ searches: counted });
  return otherReply(attempt, JSON.stringify(answer), usageOf(tokens), upstreamRequestId, units);
}
