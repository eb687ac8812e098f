// Changes how a provider is reached: its address, its key. Further keys stay as they are.

import { Button, Group, Modal, PasswordInput, Stack, Switch, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { useEffect } from 'react';
import type { CatalogueShape, ProviderShape } from '../../../src/admin-api/shapes.ts';
import { objectFaults } from '../../catalogue-faults.ts';
import { ApplyDialogue, useApply } from '../../parts/apply-dialogue.tsx';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useAsk } from '../../queries.ts';
import { words } from '../../words.ts';

export function ProviderEditButton({ provider }: { provider: ProviderShape }) {
  const [isOpen, dialogue] = useDisclosure(false);
  const catalogue = useAsk<CatalogueShape>('/catalogue', {}, { isWanted: isOpen });
  const written = catalogue.data?.document.providers[provider.name];
  return (
    <>
      <Button leftSection={<Icon name="pencil" />} onClick={dialogue.open}>
        {words.providers.edit}
      </Button>
      <Modal
        opened={isOpen}
        onClose={dialogue.close}
        title={words.providers.editTitle(provider.name)}
        closeButtonProps={{ 'aria-label': words.parts.close }}
      >
        <FailureNotice failure={catalogue.error} />
        {written !== undefined && <ProviderEditForm name={provider.name} written={written} onDone={dialogue.close} />}
      </Modal>
    </>
  );
}

interface ProviderEditFormProps {
  name: string;
  written: CatalogueShape['document']['providers'][string];
  onDone: () => void;
}

function ProviderEditForm({ name, written, onDone }: ProviderEditFormProps) {
  const form = useForm({
    initialValues: { base_url: written.base_url ?? '', api_key: '', private_network: written.private_network },
  });
  const apply = useApply({ done: words.providers.saved, onDone });
  const faults = objectFaults(apply.failure, ['providers', name], (field) => field in form.values);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the faults of an answer are shown when it comes
  useEffect(() => form.setErrors(faults ?? {}), [apply.failure]);
  const submit = form.onSubmit(({ base_url, api_key, private_network }) =>
    apply.preview(({ providers }) => {
      // Its further keys stay: where the document does not name them.
      const { credentials: _, ...standing } = providers[name] ?? written;
      const key = api_key.trim() === '' ? {} : { api_key: api_key.trim() };
      const changed = { ...standing, base_url: base_url.trim(), private_network, ...key };
      return { document: { providers: { [name]: changed } } };
    }),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput label={words.providerForm.address} type="url" required {...form.getInputProps('base_url')} />
        <PasswordInput
          label={words.providers.newKey}
          description={`${words.providers.newKeyHint} ${words.providers.newKeyElsewhere}`}
          autoComplete="off"
          {...form.getInputProps('api_key')}
        />
        <Switch
          label={words.providerForm.private}
          description={words.providerForm.privateHint}
          {...form.getInputProps('private_network', { type: 'checkbox' })}
        />
        {faults === null && <FailureNotice failure={apply.failure} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onDone}>
            {words.parts.cancel}
          </Button>
          <Button type="submit" loading={apply.isAsking}>
            {words.modelForm.preview}
          </Button>
        </Group>
      </Stack>
      <ApplyDialogue apply={apply} />
    </form>
  );
}
