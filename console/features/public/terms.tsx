// The terms of service and the privacy policy that the operator wrote.

import { Stack } from '@mantine/core';
import { ExternalLink } from '../../parts/link.tsx';
import { MarkdownText } from '../../parts/markdown.tsx';
import { Hint, Loading, PageFailure, PageHead } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';

export function TermsOfService() {
  return <Terms title="Terms of service" member="terms_of_service" />;
}

export function PrivacyPolicy() {
  return <Terms title="Privacy policy" member="privacy_policy" />;
}

function Terms({ title, member }: { title: string; member: 'terms_of_service' | 'privacy_policy' }) {
  const { data, error, refetch } = useGet('/public/terms');
  if (error !== null) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const { [member]: text, version } = data;
  return (
    <Stack gap={0}>
      <PageHead title={title} {...(version !== null && { text: `Version ${version}` })} />
      {text === null ? <Hint>There is none.</Hint> : <Written text={text} />}
    </Stack>
  );
}

/** The document may be a page elsewhere by now. */
function Written({ text }: { text: string }) {
  if (/^https:\/\/\S+$/.test(text)) return <ExternalLink href={text}>{text}</ExternalLink>;
  return <MarkdownText text={text} />;
}
