// Words of batches of requests. Pure.

import type { BatchShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';

export const batchStatusLabels = { running: 'Running', canceling: 'Canceling', ended: 'Ended' } as const;

export const formLabels = { messages: 'Anthropic Message Batches', openai: 'OpenAI Batch API' } as const;

/** The names of models, of which a few fit. */
export function modelsText({ models }: Pick<BatchShape, 'models'>, most = 2): string {
  const shown = models.slice(0, most).join(', ');
  return models.length <= most ? shown : `${shown} and ${models.length - most} more`;
}

type Counts = Pick<BatchShape, 'requests' | 'succeeded' | 'errored' | 'canceled' | 'expired'>;

/** Requests that have a result. */
export function doneOf({ succeeded, errored, canceled, expired }: Counts): number {
  return succeeded + errored + canceled + expired;
}

/** What did not succeed: "2 failed, 10 canceled". */
export function troubleText({ errored, canceled, expired }: Counts): string {
  const counts = [
    [errored, 'failed'],
    [canceled, 'canceled'],
    [expired, 'expired'],
  ] as const;
  return counts.flatMap(([count, word]) => (count === 0 ? [] : [`${formatCount(count)} ${word}`])).join(', ');
}
