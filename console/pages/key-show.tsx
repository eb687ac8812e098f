// One key: its limits and what is left of them, what it cost over time, its last requests, and what can be done to it.

import { Alert, Card, Code, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { HoldShape, KeyShape, PageShape } from '../../src/admin-api/shapes.ts';
import { isOfInstallation, useMe } from '../me.tsx';
import { useNames } from '../names.ts';
import { Icon } from '../parts/icon.tsx';
import { formatMoney, nanoOf, usdOf } from '../parts/money.tsx';
import { PageFailure } from '../parts/page-failure.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { StatTile } from '../parts/stat-tile.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { UsedBar } from '../parts/used-bar.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { When } from '../parts/when.tsx';
import { useAsk } from '../queries.ts';
import { words } from '../words.ts';
import { EditKey } from './key/edit-key.tsx';
import { KeyRequests } from './key/key-requests.tsx';
import { KeyUse } from './key/key-use.tsx';
import { RevokeKey } from './key/revoke-key.tsx';
import { RotateKey } from './key/rotate-key.tsx';
import { SwitchKey } from './key/switch-key.tsx';

const LOOK_MS = 5_000;

export function KeyShow() {
  const { keyId = '' } = useParams({ strict: false });
  const { data: shown, error, refetch } = useAsk<KeyShape>(`/keys/${keyId}`, {}, { everyMs: LOOK_MS });
  if (shown !== undefined && shown.id === keyId) return <ShownKey shown={shown} />;
  if (error !== null) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  return <Waiting />;
}

function ShownKey({ shown }: { shown: KeyShape }) {
  const me = useMe();
  return (
    <Stack gap="lg">
      <div>
        <PageHead
          title={shown.name || words.keys.unnamed}
          text={
            <Group gap="xs">
              <StatusBadge status={shown.status} label={words.keys.statuses[shown.status]} />
              <span>{words.keys.showText(`${shown.prefix}…`)}</span>
              <Code>{shown.id}</Code>
            </Group>
          }
          actions={me.role !== 'viewer' && shown.status !== 'revoked' && <Actions shown={shown} />}
        />
        <StatusNotice shown={shown} />
      </div>
      <Tiles shown={shown} />
      <KeyUse keyId={shown.id} />
      <Limits shown={shown} />
      <KeyRequests keyId={shown.id} />
    </Stack>
  );
}

function Actions({ shown }: { shown: KeyShape }) {
  return (
    <>
      <EditKey shown={shown} />
      <SwitchKey shown={shown} />
      <RotateKey shown={shown} />
      <RevokeKey shown={shown} />
    </>
  );
}

const notices: Readonly<Partial<Record<KeyShape['status'], string>>> = {
  revoked: words.keys.revokedNotice,
  disabled: words.keys.disabledNotice,
  expired: words.keys.expiredNotice,
};

function StatusNotice({ shown }: { shown: KeyShape }) {
  const notice = notices[shown.status];
  if (notice === undefined) return null;
  return (
    <Alert color="gray" icon={<Icon name="warning" />} p="sm">
      {notice}
    </Alert>
  );
}

function Tiles({ shown }: { shown: KeyShape }) {
  const { tiles } = words.keys;
  const left = shown.quota === null ? null : nanoOf(shown.quota) - nanoOf(shown.quota_used);
  const resetsAt = nextPeriodAt(shown.quota_period, Date.now());
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      <StatTile
        label={tiles.quota}
        value={
          left === null ? (
            <Text inherit c="dimmed">
              {tiles.noQuota}
            </Text>
          ) : (
            tiles.left(formatMoney(usdOf(left > 0n ? left : 0n)))
          )
        }
        note={
          <Stack gap={4}>
            <UsedBar used={shown.quota_used} limit={shown.quota} label={tiles.quota} />
            {shown.quota !== null && (
              <span>
                {resetsAt === null ? tiles.resetsNever : tiles.resets} {resetsAt !== null && <When at={resetsAt} />}
              </span>
            )}
          </Stack>
        }
      />
      <StatTile
        label={tiles.lastUsed}
        value={<When at={shown.last_used_at} isRelative />}
        note={<Running shown={shown} />}
      />
      <StatTile
        label={tiles.expires}
        value={<When at={shown.expires_at} isRelative />}
        note={<ExpiryNote shown={shown} />}
      />
    </SimpleGrid>
  );
}

function ExpiryNote({ shown: { expires_at: at } }: { shown: KeyShape }) {
  return at === null ? null : <When at={at} />;
}

/** Members do not see what an account holds. */
function Running({ shown }: { shown: KeyShape }) {
  const { role } = useMe();
  const holds = useAsk<PageShape<HoldShape>>(
    `/accounts/${shown.account}/holds`,
    { limit: 1_000 },
    { everyMs: LOOK_MS, isWanted: role !== 'member' },
  );
  if (holds.data === undefined) return null;
  const count = holds.data.data.filter(({ key }) => key === shown.id).length;
  return words.keys.running(count, holds.data.next_cursor !== null);
}

function Limits({ shown }: { shown: KeyShape }) {
  const me = useMe();
  const names = useNames([{ account: shown.account, key: null }]);
  const { fields } = words.keys;
  const limit = (figure: number | null) => figure?.toLocaleString('en-US') ?? words.parts.unlimited;
  return (
    <Card withBorder>
      <Title order={2} size="h4" mb="sm">
        {words.keys.limitsTitle}
      </Title>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="md" component="dl" m={0}>
        {isOfInstallation(me) && <Term label={words.keys.account}>{names.account(shown.account)}</Term>}
        <Term label={words.keys.models}>{shown.models?.join(', ') ?? words.keys.allModels}</Term>
        <Term label={words.keys.groups}>{shown.groups.join(', ') || words.parts.none}</Term>
        <Term label={fields.rpm}>{limit(shown.rpm)}</Term>
        <Term label={fields.inputTpm}>{limit(shown.input_tpm)}</Term>
        <Term label={fields.outputTpm}>{limit(shown.output_tpm)}</Term>
        <Term label={fields.concurrency}>{limit(shown.concurrency)}</Term>
        <Term label={fields.origins}>{shown.origins?.join(', ') ?? words.keys.anyOrigin}</Term>
        <Term label={fields.addresses}>{shown.addresses?.join(', ') ?? words.keys.anyAddress}</Term>
        <Term label={words.keys.created}>
          <When at={shown.created_at} />
        </Term>
        {shown.made_by !== null && <Term label={words.keys.madeBy}>{shown.made_by}</Term>}
      </SimpleGrid>
    </Card>
  );
}

function Term({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <Text size="xs" c="dimmed" component="dt">
        {label}
      </Text>
      <Text size="sm" component="dd" m={0} style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </div>
  );
}

/** When the quota starts anew: at midnight UTC, of weeks that on Monday; null: never. */
export function nextPeriodAt(period: KeyShape['quota_period'], nowMs: number): string | null {
  const now = new Date(nowMs);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  if (period === 'total') return null;
  if (period === 'month') return new Date(Date.UTC(year, month + 1, 1)).toISOString();
  const days = period === 'day' ? 1 : 7 - ((now.getUTCDay() + 6) % 7);
  return new Date(Date.UTC(year, month, day + days)).toISOString();
}
