// Model ids at Bedrock: foundation models, cross-region inference profiles such as "eu.anthropic.claude-…", and ARNs.

import { createHash } from 'node:crypto';
import { encodeSegment } from '../../base/encode-segment.ts';
import type { Attempt } from '../provider.ts';

const CROSS_REGION = /^(?:us-gov|us|eu|apac|jp|au|ca|in|global)\./;
const HOME_CHARACTERS = 12;

/** The model's own id, without an ARN's account and the regions of an inference profile. */
export function baseModel(model: string): string {
  return model.replace(/^arn:.*\//s, '').replace(CROSS_REGION, '');
}

/** Whether an attempt speaks the Messages protocol, by InvokeModel; all others use Converse. */
export function speaksMessages({ upstreamModel, protocol }: Pick<Attempt, 'upstreamModel' | 'protocol'>): boolean {
  if (protocol === 'messages' || protocol === 'converse') return protocol === 'messages';
  return isClaude(upstreamModel);
}

export function isClaude(model: string): boolean {
  return /(?:^|[./])anthropic\./.test(model);
}

/** The URL of an operation on a model; the id is one segment of the path, as its signature requires. */
export function modelUrl(baseUrl: string, model: string, operation: string): string {
  return `${baseUrl.replace(/\/+$/, '')}/model/${encodeSegment(model)}/${operation}`;
}

/** Identifies the model that signed a thought: no other may get it back. */
export function homeOf(model: string): string {
  return createHash('sha256').update(baseModel(model)).digest('base64url').slice(0, HOME_CHARACTERS);
}
