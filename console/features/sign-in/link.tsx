// The parts of pages that a link in a mail opens. The secret is in the URL fragment, which servers do not receive; the
// page removes it from the address and keeps it in memory.

import { Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { ApiFailure, callSignIn } from '../../api.ts';
import { usePageTitle } from '../../installation.tsx';
import { useClearSession } from '../../me.tsx';
import { ButtonLink, useGoTo } from '../../parts/link.tsx';

/** The secret of the link; empty without one. Follows a link that is opened in the tab of its page. */
export function useLinkSecret(): string {
  const [secret, setSecret] = useState(() => window.location.hash.slice(1));
  useEffect(() => {
    const take = () => {
      if (window.location.hash === '') return;
      setSecret(window.location.hash.slice(1));
      window.history.replaceState(window.history.state, '', window.location.pathname);
    };
    take();
    window.addEventListener('hashchange', take);
    return () => window.removeEventListener('hashchange', take);
  }, []);
  return secret;
}

interface NoticeProps {
  title: string;
  text: string;
  /** Another page than that of sign-in. */
  to?: string;
  label?: string;
}

export function Notice({ title, text, to = '/sign-in', label = 'Go to sign-in' }: NoticeProps) {
  usePageTitle(title);
  return (
    <Stack>
      <Title order={1} size="h3">
        {title}
      </Title>
      <Text size="sm" className="wrap">
        {text}
      </Text>
      <ButtonLink label={label} to={to} variant="default" />
    </Stack>
  );
}

/** The service no longer knows the link. */
export function isLinkUnknown(failure: unknown): boolean {
  return failure instanceof ApiFailure && (failure.status === 404 || failure.status === 400);
}

/** Uses up a link, then signs in with the new password. `onDone` is called if another step is needed for that. */
export function useNewPassword<Chosen extends { password: string }>(
  accept: (chosen: Chosen) => Promise<{ email: string }>,
  onDone: () => void,
) {
  const clearSession = useClearSession();
  const goTo = useGoTo();
  return useMutation({
    mutationFn: async (chosen: Chosen) => {
      const { email } = await accept(chosen);
      const { password } = chosen;
      try {
        const { twoFactorRedirect } = await callSignIn('POST /sign-in/email', { body: { email, password } });
        return twoFactorRedirect !== true;
      } catch {
        return false; // the link is used up; the sign-in page will show the failure
      }
    },
    onSuccess: async (isSignedIn) => {
      if (!isSignedIn) return onDone();
      await clearSession();
      await goTo('/');
    },
  });
}
