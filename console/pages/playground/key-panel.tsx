// The key that the playground sends with: made for it, or pasted.

import { Alert, Button, Card, Group, PasswordInput, Stack, Tabs, Text, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import type { CreatedKeyShape, KeyShape } from '../../../src/admin-api/shapes.ts';
import { ask } from '../../api.ts';
import { fieldFaults } from '../../form-faults.ts';
import { blankValues, bodyOfNew } from '../../key-terms.ts';
import { useMe } from '../../me.tsx';
import { useOnce } from '../../once.ts';
import { AccountSelect } from '../../parts/account-select.tsx';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { usePlaygroundKey } from '../../playground-key.ts';
import { useChange } from '../../queries.ts';
import { words } from '../../words.ts';

const PREFIX_CHARACTERS = 10;
const USUAL_QUOTA = '1.00';
const its = words.playground.key;

export function KeyPanel() {
  const [key] = usePlaygroundKey();
  return (
    <Card withBorder p="md">
      <Title order={2} size="h5" mb="xs">
        {its.title}
      </Title>
      {key === null ? <ChooseKey /> : <KeyInUse />}
    </Card>
  );
}

function ChooseKey() {
  const { role } = useMe();
  return (
    <Stack gap="sm">
      <Text size="xs" c="dimmed">
        {its.text}
      </Text>
      {role === 'viewer' ? (
        <PasteKey />
      ) : (
        <Tabs defaultValue="make" keepMounted={false}>
          <Tabs.List mb="sm" grow>
            <Tabs.Tab value="make">{its.make}</Tabs.Tab>
            <Tabs.Tab value="paste">{its.paste}</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="make">
            <MakeKey />
          </Tabs.Panel>
          <Tabs.Panel value="paste">
            <PasteKey />
          </Tabs.Panel>
        </Tabs>
      )}
    </Stack>
  );
}

function MakeKey() {
  const me = useMe();
  const [, setKey] = usePlaygroundKey();
  const [account, setAccount] = useState('');
  const [quota, setQuota] = useState(USUAL_QUOTA);
  const requestOf = useOnce();
  const values = { ...blankValues, name: its.name, account, quota, expires: '12h' as const };
  const make = useChange(
    () =>
      ask<CreatedKeyShape>(
        '/keys',
        requestOf(values, () => bodyOfNew(values, Date.now())),
      ),
    { onDone: (made) => setKey({ secret: made.key, id: made.id, account: made.account }) },
  );
  const faults = fieldFaults(make.error, ['account', 'quota']);
  return (
    <Stack gap="sm">
      {me.account === null && (
        <AccountSelect
          label={its.account}
          required
          value={account || null}
          onChange={(id) => setAccount(id ?? '')}
          error={faults?.['account']}
        />
      )}
      <TextInput
        label={its.quota}
        inputMode="decimal"
        value={quota}
        onChange={({ currentTarget }) => setQuota(currentTarget.value)}
        error={faults?.['quota']}
      />
      <Text size="xs" c="dimmed">
        {its.makeText}
      </Text>
      {faults === null && <FailureNotice failure={make.error} />}
      <Button
        onClick={() => make.mutate(undefined)}
        loading={make.isPending}
        disabled={me.account === null && account === ''}
      >
        {its.makeNow}
      </Button>
    </Stack>
  );
}

function PasteKey() {
  const [, setKey] = usePlaygroundKey();
  const [text, setText] = useState('');
  const secret = text.trim();
  // What is not printable could not stand in a header.
  const isKey = /^[\x21-\x7e]+$/.test(secret);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isKey) setKey({ secret, id: null, account: null });
      }}
    >
      <Stack gap="sm">
        <PasswordInput
          label={its.pasteLabel}
          autoComplete="off"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          error={secret !== '' && !isKey ? its.pasteFault : null}
        />
        <Button type="submit" disabled={!isKey}>
          {its.use}
        </Button>
      </Stack>
    </form>
  );
}

function KeyInUse() {
  const [key, setKey] = usePlaygroundKey();
  const { role } = useMe();
  const end = useChange((id: string) => ask<KeyShape>(`/keys/${id}/revoke`, { body: {} }), {
    done: its.ended,
    onDone: () => setKey(null),
  });
  if (key === null) return null;
  const { id } = key;
  return (
    <Stack gap="sm">
      <Alert color="teal" variant="light" p="xs">
        <Text size="sm" ff="monospace">
          {its.inUse(key.secret.slice(0, PREFIX_CHARACTERS))}
        </Text>
      </Alert>
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={() => setKey(null)}>
          {its.forget}
        </Button>
        {id !== null && role !== 'viewer' && (
          <ConfirmButton
            size="xs"
            label={its.end}
            title={words.keys.revokeTitle}
            text={words.keys.revokeText}
            onConfirm={() => end.mutateAsync(id)}
            isPending={end.isPending}
            failure={end.error}
          />
        )}
      </Group>
    </Stack>
  );
}
