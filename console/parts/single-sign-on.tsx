// The button that leads to the issuer of single sign-on, and back to a page of the console.

import { Button, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { askSignIn } from '../api.ts';
import { words } from '../words.ts';
import { FailureNotice } from './failure-notice.tsx';
import { Icon } from './icon.tsx';

/** What the service takes as a page to come back to. */
const RETURNABLE = /^\/console\/(?!auth\/|sign-in|invitation)[\w\-./]*(?:\?[\w\-.=&%]*)?$/;

export function SingleSignOn({ name }: { name: string }) {
  const going = useMutation({
    mutationFn: async () => {
      const { url } = await askSignIn<{ url: string }>('/sign-in/social', { body: { callbackURL: pageToReturnTo() } });
      if (!['https:', 'http:'].includes(new URL(url).protocol)) throw new Error(words.signIn.issuerAddress);
      window.location.assign(url);
    },
  });
  return (
    <Stack gap="sm">
      <Button
        variant="default"
        fullWidth
        leftSection={<Icon name="shield" />}
        onClick={() => going.mutate()}
        loading={going.isPending}
      >
        {words.signIn.singleSignOn(name)}
      </Button>
      <FailureNotice failure={going.error} />
    </Stack>
  );
}

function pageToReturnTo(): string {
  const { pathname, search } = window.location;
  if (RETURNABLE.test(pathname + search)) return pathname + search;
  return RETURNABLE.test(pathname) ? pathname : '/console/';
}
