// Where one is signed in, and ending it there.

import { Badge, Button, Group, Stack, Table, Text } from '@mantine/core';
import { askSignIn } from '../api.ts';
import { nameDevice } from '../name-device.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { Section } from '../parts/section.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { When } from '../parts/when.tsx';
import { useChange } from '../queries.ts';
import { type SessionShape, useSession, useSessions } from '../session.ts';
import { words } from '../words.ts';

const { profile } = words;

export function ProfileSessions() {
  const sessions = useSessions();
  const own = useSession().data?.session.token;
  const rows = [...(sessions.data ?? [])].sort(
    (one, other) =>
      Number(other.token === own) - Number(one.token === own) || other.updatedAt.localeCompare(one.updatedAt),
  );
  return (
    <Section title={profile.sessions} text={profile.sessionsText} aside={rows.length > 1 && <EndOthers />}>
      {sessions.isPending && <Waiting rowCount={2} />}
      <FailureNotice failure={sessions.error} onRetry={() => void sessions.refetch()} />
      {rows.length > 0 && <SessionTable rows={rows} own={own} />}
    </Section>
  );
}

function SessionTable({ rows, own }: { rows: SessionShape[]; own: string | undefined }) {
  return (
    <Table.ScrollContainer minWidth={0} type="native">
      <Table aria-label={profile.sessions} verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{profile.sessionDevice}</Table.Th>
            <Table.Th visibleFrom="sm">{profile.sessionAddress}</Table.Th>
            <Table.Th visibleFrom="sm">{profile.sessionSince}</Table.Th>
            <Table.Th title={profile.sessionUsedNote}>{profile.sessionUsed}</Table.Th>
            <Table.Th ta="right" aria-label={words.parts.actions} />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <SessionRow key={row.token} row={row} isOwn={row.token === own} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function SessionRow({ row, isOwn }: { row: SessionShape; isOwn: boolean }) {
  const ending = useChange(() => askSignIn<unknown>('/revoke-session', { body: { token: row.token } }), {
    done: profile.sessionEnded,
  });
  return (
    <Table.Tr>
      <Table.Td>
        <Stack gap={2}>
          <Group gap="xs">
            <Text size="sm" style={{ overflowWrap: 'anywhere' }} title={row.userAgent ?? ''}>
              {nameDevice(row.userAgent)}
            </Text>
            {isOwn && (
              <Badge variant="light" tt="none">
                {profile.sessionThis}
              </Badge>
            )}
          </Group>
          <Text size="xs" c="dimmed" hiddenFrom="sm">
            {row.ipAddress}
          </Text>
          <FailureNotice failure={ending.error} />
        </Stack>
      </Table.Td>
      <Table.Td visibleFrom="sm">{row.ipAddress}</Table.Td>
      <Table.Td visibleFrom="sm">
        <When at={row.createdAt} />
      </Table.Td>
      <Table.Td>
        <When at={row.updatedAt} isRelative />
      </Table.Td>
      <Table.Td ta="right">
        {!isOwn && (
          <Button size="xs" variant="default" onClick={() => ending.mutate(undefined)} loading={ending.isPending}>
            {profile.sessionEnd}
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function EndOthers() {
  const ending = useChange(() => askSignIn<unknown>('/revoke-other-sessions', { body: {} }), {
    done: profile.sessionsEnded,
  });
  return (
    <ConfirmButton
      label={profile.sessionsEndOthers}
      title={profile.sessionsEndOthersTitle}
      text={profile.sessionsEndOthersText}
      onConfirm={() => ending.mutateAsync(undefined)}
      isPending={ending.isPending}
      failure={ending.error}
    />
  );
}
