// A hold: what is set aside for a message that runs.

import { z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import type { OpenHold } from '../ledger/ledger.ts';
import { amountShown, idField, requestIdField, timeShown } from './answers.ts';

export const holdSchema = z
  .object({
    request_id: requestIdField,
    key: idField('key'),
    group: z.string(),
    model: z.string(),
    stream: z.boolean(),
    amount: amountShown.openapi({ description: 'Held now; it grows and shrinks as the message goes on.' }),
    since: timeShown.openapi({ description: 'When it was admitted.' }),
    caller_left: z.boolean().openapi({ description: 'The caller is gone, and its answer is awaited to be billed.' }),
  })
  .openapi('Hold');

export function holdJson(hold: OpenHold): z.infer<typeof holdSchema> {
  return {
    request_id: hold.requestId,
    key: formatId('key', hold.key),
    group: hold.group,
    model: hold.draft.model,
    stream: hold.draft.stream,
    amount: formatUsd(hold.amount),
    since: new Date(hold.openedAtMs).toISOString(),
    caller_left: hold.left,
  };
}
