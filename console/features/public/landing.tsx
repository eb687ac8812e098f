// The page at the address of the service for people who are not signed in, in the words of the operator.

import { Group, Stack } from '@mantine/core';
import { useSignInOptions } from '../../installation.tsx';
import { ButtonLink, ExternalLink } from '../../parts/link.tsx';
import { MarkdownText } from '../../parts/markdown.tsx';
import { Loading, PageFailure, PageHead, ReadingFrame } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';

export function Landing() {
  return (
    <ReadingFrame>
      <LandingPage />
    </ReadingFrame>
  );
}

function LandingPage() {
  const { data, error, refetch } = useGet('/public/landing');
  const isSignUpOpen = (useSignInOptions()?.sign_up ?? null) !== null;
  if (error !== null) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const { title, text, links } = data;
  return (
    <Stack py="xl" gap="sm">
      <PageHead title={title} />
      {text !== null && <MarkdownText text={text} />}
      <Group gap="sm">
        {isSignUpOpen && <ButtonLink label="Sign up" to="/sign-up" />}
        <ButtonLink label="Sign in" to="/sign-in" variant={isSignUpOpen ? 'default' : 'filled'} />
      </Group>
      {links.length > 0 && (
        <Group component="nav" aria-label="Links" gap="md">
          {links.map(({ label, url }) => (
            <ExternalLink key={label} href={url}>
              {label}
            </ExternalLink>
          ))}
        </Group>
      )}
    </Stack>
  );
}
