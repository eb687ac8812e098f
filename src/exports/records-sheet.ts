// The file with a row for each message, newest first within its account.

import { formatId } from '../base/ids.ts';
import { UNITS } from '../wire/wire.ts';
import { type AnyColumn, columnsFor } from './columns.ts';
import type { ExportQuestion, Place, Reading } from './export-question.ts';
import { makeNames } from './names.ts';
import { type Charge, readCharges, type ShownRecord } from './read-charges.ts';
import type { Sheet, SheetPage } from './sheet.ts';
import { tagsText } from './tags-text.ts';

interface RecordRow extends Pick<Charge, 'balancePaid' | 'planPaid' | 'writtenOff'> {
  record: ShownRecord;
  accountName: string | null;
  /** null: the reader may not see it. */
  payer: number | null;
  payerName: string | null;
  keyName: string | null;
  personEmail: string | null;
}

const { text, amount, whole, time, flag } = columnsFor<RecordRow>();

const columns: readonly AnyColumn[] = [
  text('request_id', ({ record }) => record.requestId),
  time('at', ({ record }) => record.atMs),
  text('account', ({ record }) => formatId('acct', record.account)),
  text('account_name', ({ accountName }) => accountName),
  text('payer', ({ payer }) => (payer === null ? null : formatId('acct', payer))),
  text('payer_name', ({ payerName }) => payerName),
  text('key', ({ record }) => formatId('key', record.key)),
  text('key_name', ({ keyName }) => keyName),
  text('person', ({ record }) => (record.person === null ? null : formatId('person', record.person))),
  text('person_email', ({ personEmail }) => personEmail),
  text('session', ({ record }) => record.session),
  text('agent', ({ record }) => record.agent),
  text('tags', ({ record }) => tagsText(record.tags)),
  text('group', ({ record }) => record.group),
  text('model', ({ record }) => record.model),
  text('provider', ({ record }) => record.provider),
  text('outcome', ({ record }) => record.outcome),
  whole('status', ({ record }) => record.status),
  flag('stream', ({ record }) => record.stream),
  whole('input_tokens', ({ record }) => record.inputTokens),
  whole('output_tokens', ({ record }) => record.outputTokens),
  whole('cache_read_input_tokens', ({ record }) => record.cacheReadTokens),
  whole('cache_write_5m_tokens', ({ record }) => record.cacheWrite5mTokens),
  whole('cache_write_1h_tokens', ({ record }) => record.cacheWrite1hTokens),
  whole('web_searches', ({ record }) => record.webSearches),
  amount('cost', ({ record }) => record.cost),
  amount('balance_paid', ({ balancePaid }) => balancePaid),
  amount('plan_paid', ({ planPaid }) => planPaid),
  amount('written_off', ({ writtenOff }) => writtenOff),
  text('endpoint', ({ record }) => record.endpoint ?? 'messages'),
  ...UNITS.map((unit) => whole(unit, ({ record }) => record.units?.counts[unit] ?? 0)),
];

const providerColumns: readonly AnyColumn[] = [
  text('upstream_model', ({ record }) => record.upstreamModel),
  amount('provider_cost', ({ record }) => record.providerCost),
];

export function recordsSheet(reading: Reading, question: ExportQuestion): Sheet {
  const names = makeNames(reading.sources, question.reader);
  return {
    columns: question.hasProviderCost ? [...columns, ...providerColumns] : columns,
    async *pages(from: Place | null): AsyncGenerator<SheetPage> {
      for await (const { charges, next } of readCharges(reading, question, from)) {
        const rows: RecordRow[] = [];
        for (const { kind, record, payer, balancePaid, planPaid, writtenOff } of charges) {
          if (kind !== 'message' || record === null) continue;
          const { account, key, person } = record;
          const isShown = await names.isShown(payer);
          const found = {
            accountName: await names.account(account),
            payer: isShown ? payer : null,
            payerName: isShown ? await names.account(payer) : null,
            keyName: await names.key(key),
            personEmail: person === null ? null : await names.person(person),
          };
          rows.push({ record, ...found, balancePaid, planPaid, writtenOff });
        }
        yield { rows, next };
      }
    },
  };
}
