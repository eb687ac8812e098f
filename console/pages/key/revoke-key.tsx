// Revokes a key for good, and ends its running messages where that is asked for.

import { Checkbox, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import type { KeyShape } from '../../../src/admin-api/shapes.ts';
import { ask } from '../../api.ts';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { useChange } from '../../queries.ts';
import { words } from '../../words.ts';

export function RevokeKey({ shown }: { shown: KeyShape }) {
  const [endsMessages, setEndsMessages] = useState(false);
  const revoke = useChange((now: boolean) => ask<KeyShape>(`/keys/${shown.id}/revoke`, { body: { now } }), {
    onDone: () => {
      notifications.show({ message: endsMessages ? words.keys.revokedNow : words.keys.revoked, color: 'road' });
    },
  });
  return (
    <ConfirmButton
      label={words.keys.revoke}
      color="red"
      variant="light"
      title={words.keys.revokeTitle}
      text={
        <Stack>
          <Text size="sm">{words.keys.revokeText}</Text>
          <Checkbox
            label={words.keys.revokeNow}
            description={words.keys.revokeNowHint}
            checked={endsMessages}
            onChange={({ currentTarget }) => setEndsMessages(currentTarget.checked)}
          />
        </Stack>
      }
      onConfirm={() => revoke.mutateAsync(endsMessages)}
      isPending={revoke.isPending}
      failure={revoke.error}
    />
  );
}
