// The name, logo and support address of this installation, as operators set them.

import { Anchor, type AnchorProps, Box, Group, Image, Text } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { SignInShape } from '../src/admin-api/shapes.ts';
import { call } from './api.ts';
import { documentsOf } from './documents.ts';
import { TextLink } from './parts/link.tsx';

const STALE_MS = 60_000;
const LOGO_PX = 28;

/** What everyone may know of this installation; undefined until it is known. The sign-in page shares the answer. */
export function useSignInOptions(): SignInShape | undefined {
  const { data } = useQuery({
    queryKey: ['/sign-in', undefined, {}],
    queryFn: ({ signal }) => call('GET /sign-in', { signal }),
    staleTime: STALE_MS,
  });
  return data;
}

export function useInstallation(): SignInShape['installation'] | undefined {
  return useSignInOptions()?.installation;
}

/** The title of the tab: that of the page, and the name of the installation. */
export function usePageTitle(title: string): void {
  const name = useInstallation()?.name;
  useDocumentTitle(name === undefined ? title : `${title} · ${name}`);
}

export function Logo() {
  const installation = useInstallation();
  if (installation === undefined) return <Box h={LOGO_PX} />;
  const { name, logo } = installation;
  return (
    <Group gap={8} wrap="nowrap" miw={0}>
      {logo === null ? <OwnLogo /> : <Image src={logo} alt="" h={LOGO_PX} w="auto" maw={120} fit="contain" />}
      <Text fw={700} fz="lg" lts={-0.3} truncate>
        {name}
      </Text>
    </Group>
  );
}

function OwnLogo() {
  return (
    <svg width={LOGO_PX} height={LOGO_PX} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" fill="var(--mantine-primary-color-filled)" />
      <circle cx="9" cy="22" r="4" fill="#fff" />
      <path d="M9 22 27 10" stroke="#fff" strokeWidth="3.4" strokeLinecap="round" />
      <path d="M19.6 12.2l3.2 4.8" stroke="var(--mantine-primary-color-filled)" strokeWidth="2.4" />
    </svg>
  );
}

/** Nothing without a support address. */
export function SupportLink() {
  const support = useInstallation()?.support ?? null;
  if (support === null) return null;
  const isPage = support.startsWith('https://');
  return (
    <Anchor
      size="sm"
      className="wrap"
      href={isPage ? support : `mailto:${support}`}
      {...(isPage && { target: '_blank', rel: 'noopener noreferrer' })}
    >
      {isPage ? 'Contact support' : support}
    </Anchor>
  );
}

/** A document of the terms: a page of this console or of another site. Opens in a new tab, so that no form is lost. */
export function TermsLink({ href, children, ...anchor }: AnchorProps & { href: string; children: string }) {
  return (
    <Anchor href={href} target="_blank" rel="noopener noreferrer" size="sm" {...anchor}>
      {children}
    </Anchor>
  );
}

/** Links to the pages that everyone can read. */
export function PublicLinks() {
  const { models = false, status = false } = useSignInOptions()?.pages ?? {};
  return (
    <>
      {models && (
        <TextLink size="sm" to="/pricing">
          Models and prices
        </TextLink>
      )}
      {status && (
        <TextLink size="sm" to="/status">
          Status
        </TextLink>
      )}
    </>
  );
}

/** Below pages for people without a session. */
export function PublicFooter({ hasLinks = false }: { hasLinks?: boolean }) {
  const documents = documentsOf(useSignInOptions()?.terms);
  return (
    <Group justify="center" gap="xs" component="footer">
      {hasLinks && <PublicLinks />}
      <SupportLink />
      {documents.map(({ name, href }) => (
        <TermsLink key={name} href={href}>
          {name}
        </TermsLink>
      ))}
    </Group>
  );
}
