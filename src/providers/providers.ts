// The door of providers: the interface, and one implementation per kind.

import { anthropic } from './anthropic/anthropic.ts';
import { bedrock } from './bedrock/bedrock.ts';
import { foundry } from './foundry/foundry.ts';
import { gemini } from './gemini/gemini.ts';
import { openai } from './openai/openai.ts';
import { openaiResponses } from './openai-responses/openai-responses.ts';
import type { Provider } from './provider.ts';
import { sandbox } from './sandbox/sandbox.ts';
import { vertex } from './vertex/vertex.ts';

export { type Abilities, THINKING_TYPES } from './abilities.ts';
export type { BatchLines, BatchResult, ProviderBatch, ProviderBatches } from './batches.ts';
export { sendFor } from './http-api.ts';
export type { OfferedModel, OfferedRates } from './offered-models.ts';
export { type ProbeResult, probeProvider, readOffer } from './probe-provider.ts';
export {
  type Attempt,
  type BatchedCall,
  type ByteReply,
  type EventReceiver,
  type EventSource,
  type Exchange,
  type FaultKind,
  type OtherReply,
  type Provider,
  type ProviderEndpoint,
  ProviderFault,
  type ProviderReply,
  type WholeReply,
} from './provider.ts';
export { sandboxModelNames } from './sandbox/sandbox.ts';
export { signRequest } from './sign-request.ts';
export { canConnect, fetchUpstream, prepareFetching, readBounded as readUpstream } from './upstream.ts';

export const providerKinds: ReadonlyMap<string, Provider> = new Map([
  [anthropic.kind, anthropic],
  [openai.kind, openai],
  [openaiResponses.kind, openaiResponses],
  [gemini.kind, gemini],
  [bedrock.kind, bedrock],
  [vertex.kind, vertex],
  [foundry.kind, foundry],
  [sandbox.kind, sandbox],
]);
