// The limits of a group or plan: their names, labels and how they are shown.

import type { GroupShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';

export const limitNames = ['rpm', 'input_tpm', 'output_tpm', 'concurrency'] as const;

export const limitLabels = {
  rpm: 'Requests per minute (RPM)',
  input_tpm: 'Input tokens per minute',
  output_tpm: 'Output tokens per minute',
  concurrency: 'Concurrent requests',
};

/** "60 requests/min", one for each limit. */
export function limitTexts(limits: Pick<GroupShape, (typeof limitNames)[number]>): string[] {
  return [
    limits.rpm === null ? null : `${formatCount(limits.rpm)} requests/min`,
    limits.input_tpm === null ? null : `${formatCount(limits.input_tpm)} input tokens/min`,
    limits.output_tpm === null ? null : `${formatCount(limits.output_tpm)} output tokens/min`,
    limits.concurrency === null ? null : `${formatCount(limits.concurrency)} concurrent`,
  ].filter((text) => text !== null);
}
