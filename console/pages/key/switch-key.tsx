// Disables a key, or enables it again.

import { Button } from '@mantine/core';
import type { KeyShape } from '../../../src/admin-api/shapes.ts';
import { ask } from '../../api.ts';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { useChange } from '../../queries.ts';
import { words } from '../../words.ts';

export function SwitchKey({ shown }: { shown: KeyShape }) {
  const isDisabled = shown.status === 'disabled';
  const change = useChange(
    (status: 'enabled' | 'disabled') => ask<KeyShape>(`/keys/${shown.id}`, { method: 'PATCH', body: { status } }),
    { done: isDisabled ? words.keys.enabled : words.keys.disabled },
  );
  if (isDisabled)
    return (
      <Button loading={change.isPending} onClick={() => change.mutate('enabled')}>
        {words.keys.enable}
      </Button>
    );
  return (
    <ConfirmButton
      label={words.keys.disable}
      title={words.keys.disableTitle}
      text={words.keys.disableText}
      onConfirm={() => change.mutateAsync('disabled')}
      isPending={change.isPending}
      failure={change.error}
    />
  );
}
