// The changes that a request made to balance, quota and allowance, and its ledger entries.

import { Alert, Box, Group, Progress, Stack, Text } from '@mantine/core';
import type { EntryShape, MetersShape, PageShape, ReceiptShape } from '../../../src/admin-api/shapes.ts';
import { toChartNumber } from '../../figures.ts';
import { entryKindLabels, periodTexts } from '../../labels.ts';
import { formatExactMoney, nanoOf, negated, sumOf } from '../../money.ts';
import { PlainTable } from '../../parts/data-table.tsx';
import { Money } from '../../parts/money.tsx';
import { FailureNotice, Hint, Loading, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';

const PERCENT_MIN = 1; // keeps small shares visible

type Spending = NonNullable<MetersShape['quota']>;

export function RequestMeters({ meters }: { meters: MetersShape | null }) {
  if (meters === null)
    return (
      <Section title="Balance impact">
        <Hint>The balance impact was not recorded for this request.</Hint>
      </Section>
    );
  const { balance, quota, allowance } = meters;
  if (balance === null && quota === null && allowance === null) return null;
  return (
    <Section title="Balance impact">
      {balance !== null && (
        <Group justify="space-between" gap="xs" align="baseline">
          <Text size="sm" fw={600}>
            Balance
          </Text>
          <BeforeAfter {...balance} />
        </Group>
      )}
      {quota !== null && <Spent label="Key quota" spending={quota} />}
      {allowance !== null && <Spent label="Account allowance" spending={allowance} />}
    </Section>
  );
}

function BeforeAfter({ before, after }: { before: string; after: string }) {
  return (
    <Text size="sm" component="div">
      <Money usd={sumOf([after, negated(before)])} precision="request" isSigned fw={600} />
      {' · '}
      <Money usd={before} /> → <Money usd={after} />
    </Text>
  );
}

function Spent({ label, spending: { limit, period, before, after } }: { label: string; spending: Spending }) {
  const share = (usd: string) =>
    Math.min(100, ((toChartNumber(usd) ?? 0) / Math.max(1e-9, toChartNumber(limit) ?? 0)) * 100);
  const added = Math.max(before === after ? 0 : PERCENT_MIN, share(after) - share(before));
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs" align="baseline">
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <Hint size="xs">{periodTexts[period] ?? period}</Hint>
      </Group>
      <Progress.Root size="lg" aria-hidden="true">
        <Progress.Section value={Math.min(share(before), 100 - added)} color="gray.5" />
        <Progress.Section value={added} color="road.6" />
      </Progress.Root>
      <Group justify="space-between" gap="xs">
        <BeforeAfter before={before} after={after} />
        <Hint size="xs" className="tabular">
          {`of ${formatExactMoney(limit)}`}
        </Hint>
      </Group>
    </Stack>
  );
}

export function RequestEntries({ receipt }: { receipt: ReceiptShape }) {
  const query = { request: receipt.request_id };
  const { data, error, refetch } = useGet('/accounts/{id}/entries', { id: receipt.account, query });
  return (
    <Section title="Ledger entries" text="All balance changes caused by this request." isPadded={false}>
      {error !== null && (
        <Box px="md" pb="md">
          <FailureNotice failure={error} onRetry={() => void refetch()} />
        </Box>
      )}
      {error === null && data === undefined && <Loading rowCount={2} />}
      {data?.data.length === 0 && (
        <Hint px="md" pb="md">
          This request did not change the balance.
        </Hint>
      )}
      {data !== undefined && data.data.length > 0 && <Entries page={data} receipt={receipt} />}
    </Section>
  );
}

function Entries({ page, receipt }: { page: PageShape<EntryShape>; receipt: ReceiptShape }) {
  const sum = sumOf(page.data.map(({ change }) => change));
  const agrees = page.next_cursor !== null || -nanoOf(sum) === nanoOf(receipt.cost) - nanoOf(receipt.written_off);
  return (
    <>
      <PlainTable
        label="Ledger entries"
        hasHead={false}
        rows={page.data.toReversed()}
        keyOf={({ seq }) => String(seq)}
        columns={[
          { name: 'kind', label: 'Type', show: (entry) => <KindCell entry={entry} />, total: 'Total' },
          { name: 'at', label: 'Time', from: 'sm', show: ({ at }) => <When at={at} isPrecise /> },
          {
            name: 'change',
            label: 'Amount',
            align: 'right',
            show: (entry) => (
              <Money
                usd={shownAmount(entry)}
                precision="request"
                {...(entry.kind === 'write_off' && { c: 'dimmed', td: 'line-through' })}
              />
            ),
            total: <Money usd={sum} precision="request" />,
          },
        ]}
      />
      {!agrees && (
        <Alert m="md" mt={0} color="red">
          The total differs from the recorded cost. Contact an operator of this service.
        </Alert>
      )}
    </>
  );
}

/** A write-off does not change the balance. */
function shownAmount({ kind, change, amount }: EntryShape): string {
  return kind === 'write_off' ? amount : change;
}

function KindCell({ entry: { at, kind, note } }: { entry: EntryShape }) {
  return (
    <>
      {entryKindLabels[kind]}
      <Hint size="xs" hiddenFrom="sm">
        <When at={at} isPrecise />
      </Hint>
      {note !== null && (
        <Hint size="xs" className="wrap">
          {note}
        </Hint>
      )}
    </>
  );
}
