// Changes a key: the same fields as when it was made, and only what is another is sent.

import { Button, Group, Modal, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import type { KeyShape } from '../../../src/admin-api/shapes.ts';
import { ask } from '../../api.ts';
import { fieldFaults } from '../../form-faults.ts';
import { blankValues, bodyOfChange, type KeyValues, valuesOf } from '../../key-terms.ts';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { useChange } from '../../queries.ts';
import { words } from '../../words.ts';
import { KeyFields, useGroupsOf } from './key-fields.tsx';

export function EditKey({ shown }: { shown: KeyShape }) {
  const [isOpen, dialogue] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={dialogue.open}>
        {words.keys.edit}
      </Button>
      <Modal
        opened={isOpen}
        onClose={dialogue.close}
        title={words.keys.editTitle}
        size="lg"
        closeButtonProps={{ 'aria-label': words.parts.close }}
      >
        <EditForm shown={shown} onDone={dialogue.close} />
      </Modal>
    </>
  );
}

function EditForm({ shown, onDone }: { shown: KeyShape; onDone: () => void }) {
  const groups = useGroupsOf(shown.account);
  // The form begins once the account's groups are known: by them a key that names none is told apart.
  return groups === null ? null : <BegunForm shown={shown} groups={groups} onDone={onDone} />;
}

interface BegunFormProps {
  shown: KeyShape;
  groups: readonly string[];
  onDone: () => void;
}

function BegunForm({ shown, groups, onDone }: BegunFormProps) {
  const form = useForm<KeyValues>({ initialValues: valuesOf(shown, groups) });
  const change = useChange((body: object) => ask<KeyShape>(`/keys/${shown.id}`, { method: 'PATCH', body }), {
    done: words.keys.saved,
    onDone,
  });
  const fields = Object.keys(blankValues);
  const submit = form.onSubmit((values) => {
    const body = bodyOfChange(form.getInitialValues(), values, Date.now());
    if (Object.keys(body).length === 0) return onDone();
    change.mutate(body, { onError: (failure) => form.setErrors(fieldFaults(failure, fields) ?? {}) });
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <KeyFields form={form} accountGroups={groups} />
        {change.error !== null && fieldFaults(change.error, fields) === null && (
          <FailureNotice failure={change.error} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onDone}>
            {words.parts.cancel}
          </Button>
          <Button type="submit" loading={change.isPending}>
            {words.parts.save}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
