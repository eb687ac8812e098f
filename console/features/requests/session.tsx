// A session of an agent: its cost in total, by model and by agent, and its requests.

import { Code, Stack } from '@mantine/core';
import { useFilters, useSorting } from '../../filters.ts';
import { CopyButton } from '../../parts/code-block.tsx';
import { EmptyState, FailureNotice, Loading, MissingPage, PageHead, Section } from '../../parts/page.tsx';
import { rangeText } from '../../range.ts';
import { RequestTable, useUsage } from './list.tsx';
import { usageQuery } from './query.ts';
import { UsageGroups, UsageTotals, useUsageSummary } from './summary.tsx';

export function SessionShow() {
  const { session } = useFilters().values;
  return session === undefined ? <MissingPage /> : <Session session={session} />;
}

function Session({ session }: { session: string }) {
  const filters = useFilters();
  const filter = usageQuery(filters.values, null);
  const sorting = useSorting('at', 'desc');
  const order = {
    ...(sorting.by !== 'at' && { sort: sorting.by }),
    ...(sorting.order === 'asc' && { order: 'asc' }),
  };
  const models = useUsageSummary(filter, 'model', false);
  const agents = useUsageSummary(filter, 'agent', false);
  const rows = useUsage({ ...filter, ...order }, false, true);
  // The links of the groups lead to the requests of the session, whatever the time range.
  const firstAt = models.data?.buckets[0]?.at;
  const range = firstAt === undefined ? {} : { range: rangeText(Date.parse(firstAt), null) };
  const ofSession = { ...filters, values: { ...filters.values, ...range } };
  const hasAgents = agents.data !== undefined && agents.data.groups > 1;
  return (
    <>
      <PageHead
        title="Session"
        text={<Code className="wrap">{session}</Code>}
        actions={<CopyButton text={session} label="Copy ID" size="sm" />}
      />
      {models.error !== null && <FailureNotice failure={models.error} onRetry={() => void models.refetch()} />}
      {models.error === null && models.data === undefined && <Loading />}
      {models.data?.total.messages === 0 && (
        <EmptyState
          icon="search"
          title="Session not found"
          text="This session has no requests, or you do not have access to them."
        />
      )}
      {models.data !== undefined && models.data.total.messages > 0 && (
        <Stack gap="md">
          <UsageTotals summary={models.data} filter={filter} isLive={false}>
            {null}
          </UsageTotals>
          <Section title="By model">
            <UsageGroups grouping="model" answer={models} filters={ofSession} />
          </Section>
          {hasAgents && (
            <Section title="By agent">
              <UsageGroups grouping="agent" answer={agents} filters={ofSession} />
            </Section>
          )}
          <Section title="Requests">
            <RequestTable rows={rows} sorting={sorting} />
          </Section>
        </Stack>
      )}
    </>
  );
}
