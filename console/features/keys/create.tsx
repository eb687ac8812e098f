// Creates an API key, shows its secret once, and waits for its first request.

import { Card, Group, Loader, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { CreatedKeyShape, KeyShape } from '../../../src/admin-api/shapes.ts';
import { formatMs } from '../../figures.ts';
import { useFilters } from '../../filters.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { useBaseUrl, useMe } from '../../me.tsx';
import { FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { AccountSelect, useChoosesAccount } from '../../parts/fields.tsx';
import { foundModels } from '../../parts/found.ts';
import { ActionButton, ButtonLink, Icon, pathOf, useGoTo } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { Heading, Hint, PageHead } from '../../parts/page.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { SnippetTabs } from '../../parts/snippet-tabs.tsx';
import { useCreate, useGet } from '../../queries.ts';
import { firstBody } from '../../snippets.ts';
import { markSecretSaved } from '../../unsaved.ts';
import { usePlaygroundKey } from '../playground/key-source.ts';
import { ModelSelect } from '../playground/model-select.tsx';
import { useDefaultModel } from './default-model.ts';
import { KeyFields, useGroupsOf, useModelNames } from './form.tsx';
import { createBody, emptyValues, isSandboxError, type KeyValues } from './values.ts';

export function KeyCreate() {
  const [created, setCreated] = useState<CreatedKeyShape | null>(null);
  return created === null ? <NewKey onCreated={setCreated} /> : <CreatedKey created={created} />;
}

function NewKey({ onCreated }: { onCreated: (created: CreatedKeyShape) => void }) {
  const me = useMe();
  const { values: asked } = useFilters();
  const choosesAccount = useChoosesAccount();
  const initialValues: KeyValues = { ...emptyValues, account: me.role === 'member' ? '' : (asked['account'] ?? '') };
  const form = useForm<KeyValues>({ initialValues });
  const groups = useGroupsOf(form.values.account);
  const create = useCreate('POST /keys', {
    toBody: (values: KeyValues) => createBody(values, Date.now()),
    onDone: onCreated,
  });
  const fields = Object.keys(emptyValues);
  const submit = form.onSubmit((values) =>
    create.mutate(values, { onError: (failure) => form.setErrors(fieldFaults(failure, fields) ?? {}) }),
  );
  return (
    <>
      <PageHead
        title="Create API key"
        text={
          choosesAccount
            ? 'Only the account is required. You can edit everything later except the account.'
            : 'All fields are optional. You can edit them later.'
        }
      />
      <Card maw={720} p="lg" component="form" onSubmit={submit} noValidate>
        <Stack>
          {choosesAccount && (
            <AccountSelect
              label="Account"
              description="The account that pays for requests with this key."
              required
              autoFocus
              openOnFocus={false}
              {...form.getInputProps('account')}
              value={form.values.account || me.account?.id || null}
              onChange={(id) => form.setValues({ account: id ?? '', groups: [] })}
            />
          )}
          <KeyFields form={form} accountGroups={groups ?? []} />
          <FormFailure failure={create.error} fields={fields} />
          <FormActions label="Create key" cancelTo="/keys" isPending={create.isPending} />
        </Stack>
      </Card>
    </>
  );
}

function CreatedKey({ created: { key: secret, ...created } }: { created: CreatedKeyShape }) {
  return (
    <>
      <PageHead
        title="API key created"
        text={created.name || 'Unnamed key'}
        actions={<ButtonLink label="View API key" variant="default" to={pathOf.key(created.id)} />}
      />
      <Stack maw={920}>
        <SecretOnce secret={secret} label="Secret" />
        <GetStarted created={created} secret={secret} />
      </Stack>
    </>
  );
}

const REFRESH_MS = 2_000;

function GetStarted({ created, secret }: { created: KeyShape; secret: string }) {
  const names = useModelNames(created.groups, created.models).filter((name) => !isSandboxError(name));
  const [chosen, setChosen] = useState<string | null>(null);
  const usual = useDefaultModel(names);
  const model = chosen ?? usual;
  const baseUrl = useBaseUrl();
  const [, setKey] = usePlaygroundKey();
  const goTo = useGoTo();
  const tryIt = () => {
    setKey({ secret, id: created.id, account: created.account, extendAtMs: null });
    void goTo('/playground', { model });
  };
  return (
    <Stack>
      <Card>
        <Group justify="space-between" align="flex-end" mb="sm">
          <Stack gap={0}>
            <Heading>Authenticate your applications</Heading>
            <Hint>The examples contain your key and the address of this service.</Hint>
          </Stack>
          <Group gap="xs" align="flex-end">
            {names.length > 1 && (
              <ModelSelect
                label="Model"
                found={foundModels(created.groups, created.models)}
                value={model}
                onChange={setChosen}
              />
            )}
            <ActionButton label="Open in playground" isPrimary onClick={tryIt} icon="play" />
          </Group>
        </Group>
        <SnippetTabs
          request={{ baseUrl, key: secret, body: firstBody(model, 'Hello, Turnpike') }}
          onCopied={markSecretSaved}
        />
      </Card>
      <FirstRequest keyId={created.id} />
    </Stack>
  );
}

/** Polls until the first request exists. */
function FirstRequest({ keyId }: { keyId: string }) {
  const [hasCome, setHasCome] = useState(false);
  const usage = useGet('/usage', { query: { key: keyId, limit: 1 }, everyMs: hasCome ? undefined : REFRESH_MS });
  const first = usage.data?.data[0];
  if (first !== undefined && !hasCome) setHasCome(true);
  return (
    <Card aria-live="polite">
      <Heading mb="xs">First request</Heading>
      {first === undefined ? (
        <Group gap="sm" wrap="nowrap">
          <Loader size="sm" />
          <Hint>Waiting for the first request. Run one of the examples above.</Hint>
        </Group>
      ) : (
        <Group justify="space-between">
          <Stack gap={0}>
            <Group gap="xs">
              <Icon name="check" />
              <Text fw={600}>Request received</Text>
            </Group>
            <Hint>
              {first.model}, <Money usd={first.cost} precision="request" />, {formatMs(first.latency_ms)}
            </Hint>
          </Stack>
          <ButtonLink label="View request" variant="default" to={pathOf.request(first.request_id)} />
        </Group>
      )}
    </Card>
  );
}
