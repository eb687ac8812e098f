// The API key that the playground uses: created when the first message is sent, or entered. It is kept in the memory of
// the tab only.

import { Alert, Card, Group, PasswordInput, Stack, Tabs, Text, TextInput } from '@mantine/core';
import { skipToken, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api.ts';
import { fieldFaults } from '../../form-faults.ts';
import { useMe } from '../../me.tsx';
import { ConfirmButton } from '../../parts/dialog-button.tsx';
import { AccountSelect } from '../../parts/fields.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { Heading, Hint } from '../../parts/page.tsx';
import { useChange, useCreate, useGet } from '../../queries.ts';
import { createBody, emptyValues, isSandbox, type KeyValues } from '../keys/values.ts';

const PREFIX_CHARACTERS = 10;
const DEFAULT_QUOTA = '1.00';
const FIELDS = ['account', 'quota'];

interface PlaygroundKey {
  secret: string;
  /** Null if only the secret is known. */
  id: string | null;
  account: string | null;
}

export function usePlaygroundKey(): [PlaygroundKey | null, (key: PlaygroundKey | null) => void] {
  return useTabState<PlaygroundKey | null>('playground-key', null);
}

/** State of the tab: it survives a change of page, and is discarded on sign-out and reload. */
export function useTabState<Value>(name: string, initial: Value): [Value, (value: Value) => void] {
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: [name],
    queryFn: skipToken,
    initialData: () => queries.getQueryData<Value>([name]) ?? initial,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  return [(data as Value | undefined) ?? initial, (value) => queries.setQueryData([name], () => value)];
}

export interface KeySource {
  /** Whether a key is in use or can be created. */
  isReady: boolean;
  /** Returns the secret of the key in use and creates the key if necessary; null if the creation failed. */
  getSecret: () => Promise<string | null>;
  account: string;
  setAccount: (id: string) => void;
  quota: string;
  setQuota: (usd: string) => void;
  /** Of the creation. */
  failure: Error | null;
  isPending: boolean;
}

/** `model` is the model that the first message is for. */
export function useKeySource(model: string): KeySource {
  const me = useMe();
  const [key, setKey] = usePlaygroundKey();
  const [chosen, setAccount] = useTabState('playground-account', '');
  const [quota, setQuota] = useState(DEFAULT_QUOTA);
  const accounts = useGet('/accounts', { isEnabled: me.role === 'operator' }).data?.data ?? [];
  // A sandbox model needs no real account, so nobody has to choose one to try it.
  const offered =
    accounts.length === 1 || !isSandbox(model) ? accounts : accounts.filter(({ name }) => name === 'demo');
  const account = chosen || (offered.length === 1 ? (offered[0]?.id ?? '') : '');
  const create = useCreate('POST /keys', {
    toBody: (values: KeyValues) => createBody(values, Date.now()),
    onDone: (created) => setKey({ secret: created.key, id: created.id, account: created.account }),
  });
  const values: KeyValues = { ...emptyValues, name: 'playground', account, quota, expires: '12h' };
  return {
    isReady: key !== null || (me.role !== 'viewer' && (me.account !== null || account !== '')),
    async getSecret() {
      if (key !== null) return key.secret;
      const created = await create.mutateAsync(values).catch(() => null); // the page shows `failure`
      return created?.key ?? null;
    },
    account,
    setAccount,
    quota,
    setQuota,
    failure: create.error,
    isPending: create.isPending,
  };
}

/** Whether the key panel shows the failure beside a field. */
export function isFieldFailure(failure: Error | null): boolean {
  return fieldFaults(failure, FIELDS) !== null;
}

export function KeyPanel({ source }: { source: KeySource }) {
  const { role } = useMe();
  const [key] = usePlaygroundKey();
  return (
    <Card p="md">
      <Heading mb="xs">API key</Heading>
      {key !== null && <KeyInUse />}
      {key === null && role === 'viewer' && <EnterKey />}
      {key === null && role !== 'viewer' && (
        <Tabs defaultValue="create" keepMounted={false}>
          <Tabs.List mb="sm" grow>
            <Tabs.Tab value="create">Temporary key</Tabs.Tab>
            <Tabs.Tab value="enter">Existing key</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="create">
            <NewKey source={source} />
          </Tabs.Panel>
          <Tabs.Panel value="enter">
            <EnterKey />
          </Tabs.Panel>
        </Tabs>
      )}
    </Card>
  );
}

function NewKey({ source }: { source: KeySource }) {
  const me = useMe();
  const faults = fieldFaults(source.failure, FIELDS);
  return (
    <Stack gap="sm">
      {me.account === null && (
        <AccountSelect
          label="Account"
          required
          value={source.account || null}
          onChange={(id) => source.setAccount(id ?? '')}
          error={faults?.['account']}
        />
      )}
      <TextInput
        label="Spend limit (USD)"
        inputMode="decimal"
        value={source.quota}
        onChange={({ currentTarget }) => source.setQuota(currentTarget.value)}
        error={faults?.['quota']}
      />
      <Hint size="xs">Sending your first message creates a key named “playground”. It expires in 12 hours.</Hint>
    </Stack>
  );
}

function EnterKey() {
  const [, setKey] = usePlaygroundKey();
  const [text, setText] = useState('');
  const secret = text.trim();
  // Other characters cannot be sent in a header.
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
          label="API key"
          description="The key stays in the memory of this tab. Reloading the page discards it."
          autoComplete="off"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          error={secret !== '' && !isKey ? 'A key contains only letters, digits and symbols.' : null}
        />
        <ActionButton label="Use key" isPrimary type="submit" disabled={!isKey} />
      </Stack>
    </form>
  );
}

function KeyInUse() {
  const [key, setKey] = usePlaygroundKey();
  const { role } = useMe();
  const revoke = useChange((id: string) => call('POST /keys/{id}/revoke', { id, body: {} }), {
    done: 'API key revoked.',
    onDone: () => setKey(null),
  });
  if (key === null) return null;
  const { id } = key;
  return (
    <Stack gap="sm">
      <Alert color="teal" p="xs">
        <Text size="sm" ff="monospace">
          {`In use: ${key.secret.slice(0, PREFIX_CHARACTERS)}…`}
        </Text>
      </Alert>
      <Group gap="xs">
        <ActionButton label="Change key" size="xs" onClick={() => setKey(null)} />
        {id !== null && role !== 'viewer' && (
          <ConfirmButton
            size="xs"
            label="Revoke key"
            title="Revoke this API key permanently?"
            text="All requests with this key are rejected. You cannot undo this. Its usage stays visible."
            change={revoke}
            input={id}
          />
        )}
      </Group>
    </Stack>
  );
}
