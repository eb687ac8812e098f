// One API key: limits, remaining quota, usage, recent requests and actions.

import { Alert, Card, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { KeyShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { nanoOf, usdOf } from '../../money.ts';
import { useActors, useNames } from '../../names.ts';
import { StatusBadge } from '../../parts/badges.tsx';
import { BudgetBars } from '../../parts/budget.tsx';
import { Icon } from '../../parts/link.tsx';
import { Money, UsedBar } from '../../parts/money.tsx';
import { Heading, Loading, PageFailure, PageHead, Section, StatTile } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { tagTexts } from '../../tags.ts';
import { RecentRequests } from '../requests/recent.tsx';
import { EditKey, RevokeKey, RotateKey, ToggleKey } from './actions.tsx';
import { KeyUse } from './usage.tsx';

const runningText = (count: number, hasMore: boolean) =>
  count === 0 && !hasMore ? 'No running requests' : `${count}${hasMore ? '+' : ''} running`;

const REFRESH_MS = 5_000;

export function KeyShow() {
  const { keyId = '' } = useParams({ strict: false });
  const { data: apiKey, error, refetch } = useGet('/keys/{id}', { id: keyId, everyMs: REFRESH_MS });
  if (apiKey !== undefined && apiKey.id === keyId) return <KeyDetails apiKey={apiKey} />;
  if (error !== null) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  return <Loading />;
}

function KeyDetails({ apiKey }: { apiKey: KeyShape }) {
  const me = useMe();
  return (
    <Stack gap="lg">
      <div>
        <PageHead
          title={apiKey.name || 'Unnamed key'}
          text={
            <Group gap="xs">
              <StatusBadge status={apiKey.status} />
              <Code>{apiKey.prefix}…</Code>
              <Code>{apiKey.id}</Code>
            </Group>
          }
          actions={me.role !== 'viewer' && apiKey.status !== 'revoked' && <Actions apiKey={apiKey} />}
        />
        <StatusNotice apiKey={apiKey} />
      </div>
      <Tiles apiKey={apiKey} />
      <KeyUse keyId={apiKey.id} />
      <Limits apiKey={apiKey} />
      <PersonBudget apiKey={apiKey} />
      <RecentRequests of={{ key: apiKey.id }} />
    </Stack>
  );
}

function Actions({ apiKey }: { apiKey: KeyShape }) {
  return (
    <>
      <EditKey apiKey={apiKey} />
      <ToggleKey apiKey={apiKey} />
      <RotateKey apiKey={apiKey} />
      <RevokeKey apiKey={apiKey} />
    </>
  );
}

const notices: Readonly<Partial<Record<KeyShape['status'], string>>> = {
  revoked: 'This key is revoked. Requests with this key are rejected, and it cannot be enabled again.',
  disabled: 'This key is disabled. Requests with this key are rejected.',
  expired: 'This key has expired. Change its expiration date, or create a new key.',
};

function StatusNotice({ apiKey }: { apiKey: KeyShape }) {
  const notice = notices[apiKey.status];
  if (notice === undefined) return null;
  return (
    <Alert color="gray" icon={<Icon name="warning" />}>
      {notice}
    </Alert>
  );
}

function Tiles({ apiKey }: { apiKey: KeyShape }) {
  const { quota, quota_used: used } = apiKey;
  const left = quota === null ? null : leftOf(quota, used);
  const resetsAt = nextPeriodAt(apiKey.quota_period, Date.now());
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      <StatTile
        label="Quota"
        value={
          left === null ? (
            <Text inherit c="dimmed">
              No quota
            </Text>
          ) : (
            <>
              <Money usd={left} /> left
            </>
          )
        }
        note={
          <Stack gap={4}>
            <UsedBar used={used} limit={quota} label="Quota" />
            {quota !== null && (
              <span>
                {resetsAt === null ? 'Does not reset' : 'Resets'} {resetsAt !== null && <When at={resetsAt} />}
              </span>
            )}
          </Stack>
        }
      />
      <StatTile
        label="Last used"
        value={<When at={apiKey.last_used_at} isRelative />}
        note={<Running apiKey={apiKey} />}
      />
      <StatTile
        label="Expires"
        value={<When at={apiKey.expires_at} isRelative />}
        note={<ExpiryNote apiKey={apiKey} />}
      />
    </SimpleGrid>
  );
}

/** Zero if more was used. */
function leftOf(quota: string, used: string): string {
  const left = nanoOf(quota) - nanoOf(used);
  return usdOf(left > 0n ? left : 0n);
}

function ExpiryNote({ apiKey: { expires_at: at } }: { apiKey: KeyShape }) {
  return at === null ? null : <When at={at} />;
}

/** Members cannot read the holds of an account. */
function Running({ apiKey }: { apiKey: KeyShape }) {
  const { role } = useMe();
  const holds = useGet('/accounts/{id}/holds', {
    id: apiKey.account,
    query: { limit: 1_000 },
    everyMs: REFRESH_MS,
    isEnabled: role !== 'member',
  });
  if (holds.data === undefined) return null;
  const count = holds.data.data.filter((hold) => hold.key === apiKey.id && hold.request_id.startsWith('req_')).length;
  return runningText(count, holds.data.next_cursor !== null);
}

function Limits({ apiKey }: { apiKey: KeyShape }) {
  const me = useMe();
  const names = useNames([{ account: apiKey.account, key: null }]);
  const actorName = useActors([apiKey.made_by, apiKey.person]);
  const limit = (figure: number | null) => (figure === null ? 'No limit' : formatCount(figure));
  return (
    <Card>
      <Heading mb="sm">Limits</Heading>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="md" component="dl" m={0}>
        {seesInstallation(me) && <Term label="Account">{names.account(apiKey.account)}</Term>}
        <Term label="Belongs to">{apiKey.person === null ? 'Service key' : actorName(apiKey.person)}</Term>
        <Term label="Model access">{apiKey.models?.join(', ') ?? 'All models of its groups'}</Term>
        {!me.hidden.includes('group') && <Term label="Groups">{apiKey.groups.join(', ') || 'None'}</Term>}
        <Term label="Requests per minute (RPM)">{limit(apiKey.rpm)}</Term>
        <Term label="Input tokens per minute">{limit(apiKey.input_tpm)}</Term>
        <Term label="Output tokens per minute">{limit(apiKey.output_tpm)}</Term>
        <Term label="Concurrent requests">{limit(apiKey.concurrency)}</Term>
        <Term label="Allowed origins">{apiKey.origins?.join(', ') ?? 'Any origin'}</Term>
        <Term label="Allowed IPs">{apiKey.addresses?.join(', ') ?? 'Any address'}</Term>
        <Term label="Tags">{tagTexts(apiKey.tags).join(', ') || 'None'}</Term>
        <Term label="Created">
          <When at={apiKey.created_at} />
        </Term>
        {apiKey.made_by !== null && <Term label="Created by">{actorName(apiKey.made_by)}</Term>}
      </SimpleGrid>
    </Card>
  );
}

/** What is left to the person whose key it is, at its account and those above. */
function PersonBudget({ apiKey: { person, account } }: { apiKey: KeyShape }) {
  const { data } = useGet('/people/{id}/budget', {
    id: person ?? undefined,
    query: { account },
    isEnabled: person !== null,
  });
  const actorName = useActors([person]);
  if (person === null || data?.budgets.every(({ limits }) => limits.length === 0) !== false) return null;
  return (
    <Section title={`Budget of ${actorName(person)}`} text="For all keys of this user together.">
      <BudgetBars budget={data} />
    </Section>
  );
}

function Term({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <Text size="xs" c="dimmed" component="dt">
        {label}
      </Text>
      <Text size="sm" component="dd" m={0} className="wrap">
        {children}
      </Text>
    </div>
  );
}

/** The next reset of the quota: midnight UTC, for weeks on Monday; null: never. */
function nextPeriodAt(period: KeyShape['quota_period'], nowMs: number): string | null {
  const now = new Date(nowMs);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  if (period === 'total') return null;
  if (period === 'month') return new Date(Date.UTC(year, month + 1, 1)).toISOString();
  const days = period === 'day' ? 1 : 7 - ((now.getUTCDay() + 6) % 7);
  return new Date(Date.UTC(year, month, day + days)).toISOString();
}
