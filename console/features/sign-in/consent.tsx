// Consent to the terms: the checkbox of forms that create a user, and the only page of a signed-in user who has not agreed to the
// version in force.

import { Card, Checkbox, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Fragment, useEffect, useState } from 'react';
import type { TermsShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { documentsOf } from '../../documents.ts';
import { TermsLink, usePageTitle } from '../../installation.tsx';
import { useSignOut } from '../../me.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice, Loading, PublicFrame } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';

interface ConsentFieldProps {
  terms: TermsShape;
  isGiven: boolean;
  onChange: (isGiven: boolean) => void;
  error?: string | undefined;
}

export function ConsentField({ terms, isGiven, onChange, error }: ConsentFieldProps) {
  const label = (
    <>
      {'I agree to the '}
      {documentsOf(terms).map(({ name, href }, at) => (
        <Fragment key={name}>
          {at > 0 && ' and the '}
          <TermsLink href={href} underline="always">
            {name.toLowerCase()}
          </TermsLink>
        </Fragment>
      ))}
    </>
  );
  return (
    <Checkbox
      name="consent"
      required
      label={label}
      checked={isGiven}
      error={error}
      onChange={({ currentTarget }) => onChange(currentTarget.checked)}
    />
  );
}

export function RequiredConsent() {
  usePageTitle('Agree to the terms');
  const { data, error, refetch } = useGet('/sign-in');
  useEffect(() => void refetch(), [refetch]); // the page may have read it under the former version
  const signOut = useSignOut();
  const [failure, setFailure] = useState<unknown>(null);
  return (
    <PublicFrame>
      <Card p="lg">
        <Stack gap="md">
          <Title order={1} size="h3">
            Agree to the terms
          </Title>
          {error !== null && <FailureNotice failure={error} onRetry={() => void refetch()} />}
          {data === undefined && error === null && <Loading rowCount={3} />}
          {data?.terms != null && <ConsentForm terms={data.terms} />}
          <FailureNotice failure={failure} />
          <ActionButton label="Sign out" variant="subtle" onClick={async () => setFailure(await signOut())} />
        </Stack>
      </Card>
    </PublicFrame>
  );
}

function ConsentForm({ terms }: { terms: TermsShape }) {
  const queries = useQueryClient();
  const [given, setGiven] = useState<string | null>(null);
  const agreeing = useMutation({
    mutationFn: (version: string) => call('POST /me/consent', { body: { version } }),
    onSuccess: () => queries.resetQueries({ queryKey: ['me'] }),
    onError: () => queries.invalidateQueries({ queryKey: ['/sign-in'] }), // the version may have changed
  });
  const { version } = terms;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (version !== null) agreeing.mutate(version);
      }}
    >
      <Stack gap="md">
        <Text size="sm">{`To continue, read version ${version} of the terms and agree to it. API keys keep working.`}</Text>
        <ConsentField
          terms={terms}
          isGiven={given !== null && given === version}
          onChange={(isGiven) => setGiven(isGiven ? version : null)}
        />
        <FailureNotice failure={agreeing.error} />
        <ActionButton label="Continue" isPrimary type="submit" fullWidth loading={agreeing.isPending} />
      </Stack>
    </form>
  );
}
