// The course of the balance in the present month; where its days cannot be told exactly, what was used on each.

import { Card, Group, Skeleton, Text, Title } from '@mantine/core';
import type { StatementShape } from '../../../src/admin-api/shapes.ts';
import { balanceCourse, type DayBalance, daysOf } from '../../balance-course.ts';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { formatMoney, nanoOf, usdOf } from '../../parts/money.tsx';
import { TimeChart } from '../../parts/time-chart.tsx';
import { useAsk } from '../../queries.ts';
import { words } from '../../words.ts';

const LOOK_MS = 30_000;
const its = words.balance;
const dayLabel = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });

export function BalanceChart({ accountId }: { accountId: string }) {
  const { data, error, refetch } = useAsk<StatementShape>(`/accounts/${accountId}/statement`, {}, { everyMs: LOOK_MS });
  if (data === undefined)
    return error === null ? <Skeleton h={260} /> : <FailureNotice failure={error} onRetry={() => void refetch()} />;
  const course = balanceCourse(data, Date.now());
  return (
    <Card withBorder>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">
          {course === null ? its.usedByDay : its.course}
        </Title>
        <Text size="xs" c="dimmed">
          {course === null ? its.usedByDayText : its.courseText(data.month, course.isRefundEarly)}
        </Text>
      </Group>
      {course === null ? <UsedByDay statement={data} /> : <Course days={course.days} />}
    </Card>
  );
}

function Course({ days }: { days: readonly DayBalance[] }) {
  const [first, last] = [days[0]?.balance ?? '0', days.at(-1)?.balance ?? '0'];
  return (
    <TimeChart
      kind="area"
      points={days.map(({ day, balance }) => ({ at: labelOf(day), balance: Number(balance) }))}
      series={[{ name: 'balance', label: its.courseBalance, color: 'road.6' }]}
      format={formatPoint}
      summary={its.courseSummary(formatMoney(first), formatMoney(last), days.length)}
    />
  );
}

function UsedByDay({ statement }: { statement: StatementShape }) {
  const used = new Map(statement.by_day.map((row) => [row.day, nanoOf(row.cost) - nanoOf(row.written_off)]));
  const points = daysOf(statement, Date.now()).map((day) => ({
    at: labelOf(day),
    used: Number(usdOf(used.get(day) ?? 0n)),
  }));
  return (
    <TimeChart
      kind="bar"
      points={points}
      series={[{ name: 'used', label: its.courseUsed, color: 'road.6' }]}
      format={formatPoint}
      summary={its.usedSummary(formatMoney(statement.used), points.length)}
    />
  );
}

/** A picture needs no nanodollars. */
function formatPoint(usd: number): string {
  return formatMoney(usd.toFixed(9));
}

function labelOf(day: string): string {
  return dayLabel.format(new Date(day));
}
