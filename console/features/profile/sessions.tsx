// The user's sessions, and signing out of them.

import { Badge, Group, Stack, Text } from '@mantine/core';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { callSignIn } from '../../api.ts';
import type { SessionShape, SignInEndpoints } from '../../endpoints.ts';
import { type Column, PlainTable, timeColumn } from '../../parts/data-table.tsx';
import { ConfirmButton } from '../../parts/dialog-button.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice, Hint, Loading, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useChange } from '../../queries.ts';

export function ProfileSessions() {
  const sessions = useSessions();
  const rows = [...(sessions.data ?? [])].sort(
    (one, other) => Number(other.isCurrent) - Number(one.isCurrent) || other.updatedAt.localeCompare(one.updatedAt),
  );
  return (
    <Section
      title="Sessions"
      text="A session expires after one week of inactivity, or at the time shown here."
      aside={rows.length > 1 && <EndOthers />}
    >
      {sessions.isPending && <Loading rowCount={2} />}
      <FailureNotice failure={sessions.error} onRetry={() => void sessions.refetch()} />
      {rows.length > 0 && (
        <PlainTable label="Sessions" isPadded={false} rows={rows} keyOf={({ id }) => id} columns={columns} />
      )}
    </Section>
  );
}

const columns: Column<SessionShape>[] = [
  {
    name: 'device',
    label: 'Device',
    show: (row) => (
      <Stack gap={2}>
        <Group gap="xs">
          <Text size="sm" className="wrap" title={row.userAgent ?? ''}>
            {nameDevice(row.userAgent)}
          </Text>
          {row.isCurrent && <Badge>Current session</Badge>}
        </Group>
        <Hint size="xs">{row.ipAddress}</Hint>
        <Hint size="xs" hiddenFrom="sm" component="div">
          {'Last used'} <When at={row.updatedAt} isRelative />
        </Hint>
      </Stack>
    ),
  },
  timeColumn('since', 'Signed in', ({ createdAt }) => createdAt, { from: 'sm' }),
  timeColumn('last_used', 'Last used', ({ updatedAt }) => updatedAt, {
    from: 'sm',
    title: 'Updated at most once a day.',
    isRelative: true,
  }),
  timeColumn('ends', 'Ends', ({ endsAt }) => endsAt, { from: 'sm', title: 'Activity extends it by up to one week.' }),
  { name: 'end', label: '', align: 'right', show: (row) => !row.isCurrent && <EndSession row={row} /> },
];

function EndSession({ row }: { row: SessionShape }) {
  const ending = useChange(() => callSignIn('POST /revoke-session', { body: { id: row.id } }), {
    done: 'Session ended.',
  });
  return (
    <>
      <ActionButton label="Sign out" size="xs" onClick={() => ending.mutate(undefined)} loading={ending.isPending} />
      <FailureNotice failure={ending.error} />
    </>
  );
}

function EndOthers() {
  const ending = useChange(() => callSignIn('POST /revoke-other-sessions', { body: {} }), {
    done: 'All other sessions were signed out.',
  });
  return (
    <ConfirmButton
      label="Sign out all others"
      title="Sign out all other sessions?"
      text="All other browsers and devices must sign in again."
      change={ending}
      input={undefined}
    />
  );
}

/** Null without a session. */
export function useSession(): UseQueryResult<SignInEndpoints['GET /get-session']> {
  return useQuery({
    queryKey: ['sign-in', '/get-session'],
    queryFn: ({ signal }) => callSignIn('GET /get-session', { signal }),
  });
}

function useSessions(): UseQueryResult<SessionShape[]> {
  return useQuery({
    queryKey: ['sign-in', '/list-sessions'],
    queryFn: ({ signal }) => callSignIn('GET /list-sessions', { signal }),
  });
}

// The order matters: most user agents contain the names of other browsers.
const browsers: readonly [RegExp, string][] = [
  [/Edg(?:e|A|iOS)?\//, 'Edge'],
  [/OPR\/|Opera/, 'Opera'],
  [/SamsungBrowser\//, 'Samsung Internet'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/Chrome\/|CriOS\/|Chromium\//, 'Chrome'],
  [/Safari\//, 'Safari'],
];
const systems: readonly [RegExp, string][] = [
  [/iPhone|iPod/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/CrOS/, 'ChromeOS'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/Linux/, 'Linux'],
];
const SHOWN_CHARACTERS_MAX = 60;

/** "Firefox on Linux"; for an unknown user agent, its beginning. */
export function nameDevice(userAgent: string | null | undefined): string {
  if (!userAgent) return 'Unknown device';
  const browser = browsers.find(([shape]) => shape.test(userAgent))?.[1];
  const system = systems.find(([shape]) => shape.test(userAgent))?.[1];
  if (browser === undefined || system === undefined) return userAgent.slice(0, SHOWN_CHARACTERS_MAX);
  return `${browser} on ${system}`;
}
