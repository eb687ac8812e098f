// A new key: made once however often one clicks, its secret shown once, then how to use it.

import { Button, Card, Group, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { CreatedKeyShape } from '../../src/admin-api/shapes.ts';
import { ask } from '../api.ts';
import { useFilters } from '../filters.ts';
import { fieldFaults } from '../form-faults.ts';
import { blankValues, bodyOfNew, type KeyValues } from '../key-terms.ts';
import { useMe } from '../me.tsx';
import { useOnce } from '../once.ts';
import { AccountSelect } from '../parts/account-select.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { SecretOnce } from '../parts/secret-once.tsx';
import { useChange } from '../queries.ts';
import { words } from '../words.ts';
import { KeyFields, useGroupsOf } from './key/key-fields.tsx';
import { UseIt } from './key/use-it.tsx';

export function KeyCreate() {
  const [made, setMade] = useState<CreatedKeyShape | null>(null);
  return made === null ? <NewKey onMade={setMade} /> : <MadeKey made={made} />;
}

function NewKey({ onMade }: { onMade: (made: CreatedKeyShape) => void }) {
  const me = useMe();
  const { values: asked } = useFilters();
  const requestOf = useOnce();
  const initialValues: KeyValues = { ...blankValues, account: me.account === null ? (asked['account'] ?? '') : '' };
  const form = useForm<KeyValues>({ initialValues });
  const groups = useGroupsOf(form.values.account);
  const make = useChange(
    (values: KeyValues) =>
      ask<CreatedKeyShape>(
        '/keys',
        requestOf(values, () => bodyOfNew(values, Date.now())),
      ),
    { onDone: onMade },
  );
  const fields = Object.keys(blankValues);
  const submit = form.onSubmit((values) =>
    make.mutate(values, { onError: (failure) => form.setErrors(fieldFaults(failure, fields) ?? {}) }),
  );
  return (
    <>
      <PageHead title={words.keys.createTitle} text={words.keys.createText} />
      <Card withBorder maw={720} p="lg" component="form" onSubmit={submit} noValidate>
        <Stack>
          {me.account === null && (
            <AccountSelect
              label={words.keys.fields.account}
              description={words.keys.fields.accountHint}
              required
              {...form.getInputProps('account')}
              value={form.values.account || null}
              onChange={(id) => form.setValues({ account: id ?? '', groups: [] })}
            />
          )}
          <KeyFields form={form} accountGroups={groups ?? []} />
          {make.error !== null && fieldFaults(make.error, fields) === null && <FailureNotice failure={make.error} />}
          <Group justify="flex-end">
            <Button variant="default" renderRoot={(props) => <Link {...props} to="/keys" />}>
              {words.parts.cancel}
            </Button>
            <Button type="submit" loading={make.isPending}>
              {words.keys.submit}
            </Button>
          </Group>
        </Stack>
      </Card>
    </>
  );
}

function MadeKey({ made: { key: secret, ...made } }: { made: CreatedKeyShape }) {
  const title = made.name === '' ? words.keys.madeTitleUnnamed : words.keys.madeTitle(made.name);
  return (
    <>
      <PageHead
        title={title}
        actions={
          <Button
            variant="default"
            renderRoot={(props) => <Link {...props} to="/keys/$keyId" params={{ keyId: made.id }} />}
          >
            {words.keys.toKey}
          </Button>
        }
      />
      <Stack maw={920}>
        <SecretOnce secret={secret} label={words.keys.secretLabel} />
        <UseIt made={made} secret={secret} />
      </Stack>
    </>
  );
}
