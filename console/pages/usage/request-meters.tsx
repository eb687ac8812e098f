// What a request took from balance, quota and allowance: each before and after it.

import { Group, Progress, Stack, Text } from '@mantine/core';
import type { MetersShape } from '../../../src/admin-api/shapes.ts';
import { forPicture } from '../../decimals.ts';
import { formatMoney } from '../../parts/money.tsx';
import { Section } from '../../parts/section.tsx';
import { words } from '../../words.ts';

const { request: its } = words;
const LEAST_PERCENT = 1; // a share that is smaller is seen all the same

type Spending = NonNullable<MetersShape['quota']>;

export function RequestMeters({ meters }: { meters: MetersShape | null }) {
  if (meters === null)
    return (
      <Section title={its.meters}>
        <Text size="sm" c="dimmed">
          {its.noMeters}
        </Text>
      </Section>
    );
  const { balance, quota, allowance } = meters;
  if (balance === null && quota === null && allowance === null) return null;
  return (
    <Section title={its.meters}>
      {balance !== null && (
        <Group justify="space-between" gap="xs" align="baseline">
          <Text size="sm" fw={600}>
            {its.balance}
          </Text>
          <BeforeAfter {...balance} />
        </Group>
      )}
      {quota !== null && <Spent label={its.quota} spending={quota} />}
      {allowance !== null && <Spent label={its.allowance} spending={allowance} />}
    </Section>
  );
}

function BeforeAfter({ before, after }: { before: string; after: string }) {
  return (
    <Text size="sm" className="tabular" title={its.beforeAfter(`${before} USD`, `${after} USD`)}>
      {its.beforeAfter(...moneyApart(before, after))}
    </Text>
  );
}

/** Both to as many digits as it takes to tell them apart. */
function moneyApart(before: string, after: string): [string, string] {
  const shown: [string, string] = [formatMoney(before), formatMoney(after)];
  return shown[0] === shown[1] && before !== after ? [`$${before}`, `$${after}`] : shown;
}

function Spent({ label, spending: { limit, period, before, after } }: { label: string; spending: Spending }) {
  const share = (usd: string) => Math.min(100, ((forPicture(usd) ?? 0) / Math.max(1e-9, forPicture(limit) ?? 0)) * 100);
  const added = Math.max(before === after ? 0 : LEAST_PERCENT, share(after) - share(before));
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs" align="baseline">
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <Text size="xs" c="dimmed">
          {its.periods[period]}
        </Text>
      </Group>
      <Progress.Root size="lg" aria-hidden="true">
        <Progress.Section value={Math.min(share(before), 100 - added)} color="gray.5" />
        <Progress.Section value={added} color="road.6" />
      </Progress.Root>
      <Group justify="space-between" gap="xs">
        <BeforeAfter before={before} after={after} />
        <Text size="xs" c="dimmed" className="tabular">
          {its.ofLimit(formatMoney(after), formatMoney(limit))}
        </Text>
      </Group>
    </Stack>
  );
}
