// The drivers of models at clouds: wire formats of other kinds, with what differs there. It has no tests of its own.

import { anthropicDriver } from './anthropic-wire.ts';
import type { Driver, Refusal } from './driver.ts';
import { geminiDriver } from './gemini-wire.ts';
import { responsesDriver } from './responses-wire.ts';

const google = (code: number, status: string, message: string) => JSON.stringify({ error: { code, status, message } });

const GOOGLE_REFUSALS: Readonly<Record<string, Refusal>> = {
  'an exhausted quota of Google': {
    status: 429,
    body: google(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for online_prediction_requests_per_base_model.'),
    kind: 'rate_limited',
  },
  'a missing permission, in a list': {
    status: 403,
    body: `[${google(403, 'PERMISSION_DENIED', "Permission 'aiplatform.endpoints.predict' denied on projects/our-project.")}]`,
    kind: 'credentials',
  },
  'a model that the project does not have': {
    status: 404,
    body: google(
      404,
      'NOT_FOUND',
      'Publisher Model `projects/our-project/locations/x/publishers/y/models/z` was not found.',
    ),
    kind: 'not_found',
  },
};

/** Google's answer to a token count without a prompt. */
const EMPTY_REFUSED = { status: 400, body: google(400, 'INVALID_ARGUMENT', 'contents is required') };

const vertexClaude: Driver = {
  ...anthropicDriver,
  name: 'vertex (Claude)',
  kind: 'vertex',
  wire: 'anthropic',
  gathersTools: true,
  baseUrl: 'https://us-east5-aiplatform.googleapis.com',
  model: 'claude-sonnet-4-5@20250929',
  credential: 'ya29.our-token-of-google-0123456789',
  refusals: { ...anthropicDriver.refusals, ...GOOGLE_REFUSALS },
  models: EMPTY_REFUSED,
  layout: { ...anthropicDriver.layout, refuses: ['image-url', 'pdf-url'] },
};

const vertexGemini: Driver = {
  ...geminiDriver,
  name: 'vertex (Gemini)',
  kind: 'vertex',
  wire: 'gemini',
  baseUrl: 'https://europe-west4-aiplatform.googleapis.com',
  refusals: { ...geminiDriver.refusals, ...GOOGLE_REFUSALS },
  models: EMPTY_REFUSED,
};

const foundryClaude: Driver = {
  ...anthropicDriver,
  name: 'foundry (Claude)',
  kind: 'foundry',
  wire: 'anthropic',
  gathersTools: true,
  baseUrl: 'https://ours.services.ai.azure.com',
  model: 'our-claude',
  credential: 'our-key-of-azure-0123456789',
  refusals: {
    ...anthropicDriver.refusals,
    "a refused key in Azure's format": {
      status: 401,
      body: '{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}',
      kind: 'credentials',
    },
    "an exhausted quota in Azure's format": {
      status: 429,
      headers: { 'retry-after': '7' },
      body: '{"error":{"code":"RateLimitReached","message":"Rate limit reached for our-claude."}}',
      kind: 'rate_limited',
      retryAfterMs: 7_000,
    },
  },
  models: responsesDriver.models,
};

const foundryResponses: Driver = {
  ...responsesDriver,
  name: 'foundry (Responses)',
  kind: 'foundry',
  wire: 'openai-responses',
  baseUrl: 'https://ours.openai.azure.com',
  model: 'our-deployment',
  credential: 'our-key-of-azure-0123456789',
};

export const cloudDrivers: readonly Driver[] = [vertexClaude, vertexGemini, foundryClaude, foundryResponses];
