// Approves or denies the sign-in of a device that shows a code. Nothing happens until the person presses a button.

import { Alert, Button, Card, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { call } from '../../api.ts';
import { useFilters } from '../../filters.ts';
import { useMe } from '../../me.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { Facts, FailureNotice, Loading, PageHead } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useChange, useGet } from '../../queries.ts';
import { clientLabels } from './list.tsx';

export function DeviceShow() {
  const { user_code: given = '' } = useFilters().values;
  const [code, setCode] = useState(given);
  return (
    <>
      <PageHead title="Sign in a coding agent" text="Approve the sign-in that you started on your device." />
      <Card maw={560}>
        {code === '' ? <CodeForm onSubmit={setCode} /> : <Decision code={code} onOther={() => setCode('')} />}
      </Card>
    </>
  );
}

function CodeForm({ onSubmit }: { onSubmit: (code: string) => void }) {
  const [typed, setTyped] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(typed.trim());
      }}
    >
      <Stack>
        <TextInput
          label="Code"
          description="The code shown by your coding agent, for example BCDF-GHJK."
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          maxLength={16}
          autoComplete="off"
          required
          data-autofocus
        />
        <Group justify="flex-end">
          <Button type="submit">Continue</Button>
        </Group>
      </Stack>
    </form>
  );
}

function Decision({ code, onOther }: { code: string; onOther: () => void }) {
  const me = useMe();
  const shown = useGet('/device-codes/{code}', { id: code });
  const approving = useChange(() => call('POST /device-codes/{code}/approve', { id: code, body: {} }));
  const denying = useChange(() => call('POST /device-codes/{code}/deny', { id: code, body: {} }));
  if (approving.data !== undefined)
    return (
      <Alert
        color="teal"
        title="Signed in"
      >{`Return to ${clientLabels[approving.data.client]}. You can close this page.`}</Alert>
    );
  if (denying.data !== undefined)
    return (
      <Alert color="gray" title="Denied">
        The device was not signed in.
      </Alert>
    );
  if (shown.error !== null)
    return (
      <Stack>
        <FailureNotice failure={shown.error} />
        <Group justify="flex-end">
          <ActionButton label="Enter another code" onClick={onOther} />
        </Group>
      </Stack>
    );
  if (shown.data === undefined) return <Loading rowCount={3} />;
  const { client, address, created_at: at, code: exact } = shown.data;
  return (
    <Stack>
      <Facts
        facts={[
          { name: 'Code', value: <Code fz="lg">{exact}</Code> },
          { name: 'Coding agent', value: clientLabels[client] },
          { name: 'IP address of the device', value: address },
          { name: 'Requested', value: <When at={at} isRelative /> },
          { name: 'Billed account', value: me.account?.name ?? '' },
        ]}
      />
      <Text size="sm">
        Approve only if your coding agent shows this code now. The device can then spend on your behalf.
      </Text>
      <FailureNotice failure={approving.error ?? denying.error} />
      <Group justify="flex-end">
        <ActionButton label="Deny" loading={denying.isPending} onClick={() => denying.mutate(undefined)} />
        <ActionButton
          label="Approve"
          isPrimary
          loading={approving.isPending}
          onClick={() => approving.mutate(undefined)}
        />
      </Group>
    </Stack>
  );
}
