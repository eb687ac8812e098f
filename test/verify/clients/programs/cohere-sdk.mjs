// Cohere's SDK for TypeScript, in Node: reranking only.

import { CohereClientV2 } from 'cohere-ai';
import { holdAll } from './hold-all.mjs';

const cohere = new CohereClientV2({ environment: process.env.BASE_URL, token: process.env.KEY });

await holdAll(async ({ body }) => {
  const { query, documents, top_n: topN } = body;
  const { results } = await cohere.rerank({ model: body.model, query, documents, topN });
  return { ranking: results.map(({ index, relevanceScore }) => [index, relevanceScore]) };
});
