// The only page of a user who must set up a second factor before anything else.

import { Card, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { usePageTitle } from '../../installation.tsx';
import { useSignOut } from '../../me.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice, PublicFrame } from '../../parts/page.tsx';
import { SecondFactorSetUp } from '../profile/second-factor.tsx';

export function RequiredSecondFactor({ onDone }: { onDone: () => void }) {
  usePageTitle('Set up a second factor');
  const signOut = useSignOut();
  const [failure, setFailure] = useState<unknown>(null);
  return (
    <PublicFrame>
      <Card p="lg">
        <Stack gap="md">
          <Title order={1} size="h3">
            Set up a second factor
          </Title>
          <Text size="sm">
            This installation requires a code from an authenticator app in addition to your password. Set it up to
            continue.
          </Text>
          <SecondFactorSetUp onDone={onDone} isExplained />
          <FailureNotice failure={failure} />
          <ActionButton label="Sign out" variant="subtle" onClick={async () => setFailure(await signOut())} />
        </Stack>
      </Card>
    </PublicFrame>
  );
}
