// Shows the API key of the playground: what is left of its quota, its account, and the choice of another key.

import { Code, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { KeyShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { fieldFaults } from '../../form-faults.ts';
import { useMe } from '../../me.tsx';
import { formatExactMoney, formatMoney, nanoOf, usdOf } from '../../money.ts';
import { useNames } from '../../names.ts';
import { AmountField } from '../../parts/amount-field.tsx';
import { ConfirmButton } from '../../parts/dialog-button.tsx';
import { AccountSelect } from '../../parts/fields.tsx';
import { ActionButton, pathOf, TextLink } from '../../parts/link.tsx';
import { FailureNotice, Heading, Hint } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useChange } from '../../queries.ts';
import { type KeySource, usePlaygroundKey } from './key-source.ts';

const PREFIX_CHARACTERS = 10;
const FIELDS = ['account', 'quota'];

/** One line: which key sends, who pays, and what is left. */
export function KeyLine({ source }: { source: KeySource }) {
  const me = useMe();
  const [key] = usePlaygroundKey();
  const { shown } = source;
  const account = shown?.account ?? key?.account ?? source.account;
  const names = useNames([{ account: account || null, key: null }]);
  const payer = me.account !== null || account === '' ? '' : ` · billed to ${names.account(account)}`;
  if (shown === undefined && key !== null)
    return <Hint size="xs">{`Key ${key.secret.slice(0, PREFIX_CHARACTERS)}…${payer}`}</Hint>;
  if (shown === undefined)
    return (
      source.isReady && (
        <Hint size="xs">{`The first request creates a key that can spend ${formatExactMoney(source.quota)} per day${payer}.`}</Hint>
      )
    );
  return (
    <Hint size="xs" component="div" data-testid="key-line">
      <TextLink to={pathOf.key(shown.id)}>{`Key ${shown.prefix}…`}</TextLink>
      {shown.quota !== null &&
        ` · ${leftOf(shown)} of ${formatExactMoney(shown.quota)} left${periodTexts[shown.quota_period]}`}
      {shown.expires_at !== null && (
        <>
          {' · expires '}
          <When at={shown.expires_at} isRelative />
        </>
      )}
      {payer}
    </Hint>
  );
}

const periodTexts = { total: '', day: ' today', week: ' this week', month: ' this month' };

function leftOf({ quota, quota_used: used }: KeyShape): string {
  const left = nanoOf(quota ?? '0') - nanoOf(used);
  return formatMoney(usdOf(left > 0n ? left : 0n));
}

export function KeyPanel({ source }: { source: KeySource }) {
  const { role } = useMe();
  const [key] = usePlaygroundKey();
  return (
    <Stack gap="sm" component="section" aria-label="API key">
      <Heading>API key</Heading>
      {key === null ? role !== 'viewer' && <NextKey source={source} /> : <KeyInUse source={source} />}
      {(key === null || key.extendAtMs !== null) && <EnterKey />}
    </Stack>
  );
}

/** What is missing before the first message; null if nothing is. */
export function KeyNeeded({ source }: { source: KeySource }) {
  const me = useMe();
  if (source.isReady) return null;
  if (me.role === 'viewer')
    return (
      <Stack gap="sm" maw={420} mx="auto" w="100%">
        <Text size="sm">Viewers cannot create API keys. Enter the secret of an existing key to send requests.</Text>
        <EnterKey />
      </Stack>
    );
  return <AccountField source={source} />;
}

function AccountField({ source }: { source: KeySource }) {
  return (
    <AccountSelect
      label="Account"
      description="The account that pays for the requests."
      required
      maw={420}
      mx="auto"
      w="100%"
      value={source.account || null}
      onChange={(id) => source.setAccount(id ?? '')}
      error={fieldFaults(source.failure, FIELDS)?.['account']}
    />
  );
}

/** Before the first message. */
function NextKey({ source }: { source: KeySource }) {
  const me = useMe();
  return (
    <Stack gap="sm">
      {me.account === null && <AccountField source={source} />}
      {source.shown === undefined ? (
        <AmountField
          label="Spend limit per day (USD)"
          description="For the key that the first request creates. The key expires after one day."
          value={source.quota}
          onChange={source.setQuota}
          error={fieldFaults(source.failure, FIELDS)?.['quota']}
        />
      ) : (
        <QuotaOfKey apiKey={source.shown} />
      )}
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
        if (isKey) setKey({ secret, id: null, account: null, extendAtMs: null });
      }}
    >
      <Stack gap="sm">
        <PasswordInput
          label="Existing API key"
          description="Kept in this tab only. Reloading the page discards it."
          autoComplete="off"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          error={secret !== '' && !isKey ? 'A key contains only letters, digits and symbols.' : null}
        />
        <ActionButton label="Use key" type="submit" disabled={!isKey} />
      </Stack>
    </form>
  );
}

function KeyInUse({ source }: { source: KeySource }) {
  const [key, setKey] = usePlaygroundKey();
  const me = useMe();
  const revoke = useChange((id: string) => call('POST /keys/{id}/revoke', { id, body: {} }), {
    done: 'API key revoked.',
    onDone: () => setKey(null),
  });
  if (key === null) return null;
  const { id, secret, extendAtMs } = key;
  const isTemporary = extendAtMs !== null;
  return (
    <Stack gap="sm">
      <Text size="sm" component="div">
        Current key: <Code>{`${secret.slice(0, PREFIX_CHARACTERS)}…`}</Code>
      </Text>
      {isTemporary && me.account === null && <AccountField source={source} />}
      {isTemporary && source.shown !== undefined && <QuotaOfKey apiKey={source.shown} />}
      <Group gap="xs">
        {!isTemporary && <ActionButton label="Use another key" size="xs" onClick={() => setKey(null)} />}
        {id !== null && me.role !== 'viewer' && (
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

function QuotaOfKey({ apiKey: { id, quota: current } }: { apiKey: KeyShape }) {
  const [typed, setTyped] = useState<string | null>(null);
  const change = useChange((quota: string) => call('PATCH /keys/{id}', { id, body: { quota } }), {
    done: 'Spend limit saved.',
    onDone: () => setTyped(null),
  });
  const faults = fieldFaults(change.error, FIELDS);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (typed !== null) change.mutate(typed.trim());
      }}
    >
      <Group align="flex-end" gap="xs">
        <AmountField
          flex={1}
          label="Spend limit per day (USD)"
          value={typed ?? current ?? ''}
          onChange={setTyped}
          error={faults?.['quota']}
        />
        <ActionButton label="Save limit" type="submit" disabled={typed === null} loading={change.isPending} />
      </Group>
      {faults === null && <FailureNotice failure={change.error} />}
    </form>
  );
}
