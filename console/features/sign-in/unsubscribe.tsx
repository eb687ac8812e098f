// Ends mails about events with the link of one of them, without signing in. Asks first: programs that look at links
// must not unsubscribe anyone.

import { Card, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { call } from '../../api.ts';
import { usePageTitle } from '../../installation.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { Hint } from '../../parts/page.tsx';
import { isLinkUnknown, Notice, useLinkSecret } from './link.tsx';
import { SignInFailure } from './password.tsx';

export function Unsubscribe() {
  const token = useLinkSecret();
  return (
    <Card p="lg">
      {token === '' ? (
        <Notice title="Link missing" text="Open the link in the email again." />
      ) : (
        <Choice key={token} token={token} />
      )}
    </Card>
  );
}

function Choice({ token }: { token: string }) {
  usePageTitle('Unsubscribe');
  const choosing = useMutation({
    mutationFn: (undo: boolean) => call('POST /unsubscribe', { body: { token, undo } }),
  });
  if (isLinkUnknown(choosing.error))
    return <Notice title="This link is not valid" text="Use the link in a newer email." />;
  const { data } = choosing;
  const isUnsubscribed = data?.subscribed === false;
  return (
    <Stack gap="md">
      <Title order={1} size="h3">
        {data === undefined ? 'Unsubscribe from these emails?' : isUnsubscribed ? 'Unsubscribed' : 'Resubscribed'}
      </Title>
      {data !== undefined && (
        <Text size="sm" role="status" className="wrap">
          {isUnsubscribed
            ? `${data.email} no longer receives these emails.`
            : `${data.email} receives these emails again.`}
        </Text>
      )}
      <Hint>Emails about account security, such as new API keys, are always sent.</Hint>
      <SignInFailure failure={choosing.error} />
      <ActionButton
        label={isUnsubscribed ? 'Resubscribe' : 'Unsubscribe'}
        isPrimary={!isUnsubscribed}
        fullWidth
        onClick={() => choosing.mutate(isUnsubscribed)}
        loading={choosing.isPending}
      />
    </Stack>
  );
}
