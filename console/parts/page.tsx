// The layout of a page: head, sections, facts, tiles, empty states, loading and failure states, and the frame of pages
// before sign-in.

import {
  Alert,
  Box,
  Card,
  Center,
  Code,
  Group,
  List,
  Skeleton,
  Stack,
  Text,
  type TextProps,
  ThemeIcon,
  Title,
  type TitleProps,
  VisuallyHidden,
} from '@mantine/core';
import { type ComponentPropsWithoutRef, type CSSProperties, type ReactNode, useEffect, useId } from 'react';
import { ApiFailure, UNREACHABLE } from '../api.ts';
import { faultSentence } from '../form-faults.ts';
import { Logo, PublicFooter, PublicLinks, usePageTitle } from '../installation.tsx';
import { refuseSearch } from '../typed-search.ts';
import { ActionButton, ButtonLink, Icon, type IconName, type Place, TextLink } from './link.tsx';

type HintProps = TextProps & Omit<ComponentPropsWithoutRef<'p'>, keyof TextProps> & { component?: 'p' | 'div' };

/** Secondary text: an explanation, a note, or a missing value. */
export function Hint(text: HintProps) {
  return <Text size="sm" c="dimmed" {...text} />;
}

export function Heading(title: Omit<TitleProps, 'order' | 'size'>) {
  return <Title order={2} size="h5" {...title} />;
}

interface PageHeadProps {
  title: string;
  text?: ReactNode;
  actions?: ReactNode;
}

export function PageHead({ title, text, actions }: PageHeadProps) {
  usePageTitle(title);
  return (
    <Group justify="space-between" align="flex-end" gap="md" className="page-head">
      <Stack gap={2} miw={0} style={{ flex: '1 1 280px' }}>
        <Title order={1} size="h2" className="wrap">
          {title}
        </Title>
        {text !== undefined && (
          <Text c="dimmed" size="sm" maw={720} component="div">
            {text}
          </Text>
        )}
      </Stack>
      {actions !== undefined && actions !== false && (
        <Group gap="xs" className="no-print">
          {actions}
        </Group>
      )}
    </Group>
  );
}

interface SectionProps {
  title: string;
  text?: ReactNode;
  /** To the right of the heading. */
  aside?: ReactNode;
  /** False: the content extends to the border, for tables. */
  isPadded?: boolean;
  children: ReactNode;
}

export function Section({ title, text, aside, isPadded = true, children }: SectionProps) {
  const headingId = useId();
  return (
    <Card p={0} component="section" aria-labelledby={headingId}>
      <Group justify="space-between" align="flex-start" px="md" pt="md" pb="xs" gap="xs">
        <Stack gap={2} miw={0} flex="1 1 240px">
          <Heading id={headingId}>{title}</Heading>
          {text !== undefined && (
            <Text size="xs" c="dimmed" component="div">
              {text}
            </Text>
          )}
        </Stack>
        {aside}
      </Group>
      <Stack gap="sm" {...(isPadded && { px: 'md', pb: 'md' })}>
        {children}
      </Stack>
    </Card>
  );
}

export interface Fact {
  name: string;
  value: ReactNode;
}

export function Facts({ facts }: { facts: readonly (Fact | null)[] }) {
  return (
    <Box component="dl" m={0} style={{ display: 'grid', gridTemplateColumns: 'auto 1fr', gap: '6px 16px' }}>
      {facts.map((fact) => fact !== null && <Pair key={fact.name} {...fact} />)}
    </Box>
  );
}

function Pair({ name, value }: Fact) {
  return (
    <>
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="dd" size="sm" m={0} className="wrap">
        {value}
      </Text>
    </>
  );
}

interface StatTileProps {
  label: string;
  value: ReactNode;
  /** Leads to what the figure counts. */
  link?: Place;
  /** A line below the value. */
  note?: ReactNode;
  /** A small chart below the value. */
  chart?: ReactNode;
  color?: string;
}

export function StatTile({ label, value, link, note, chart, color }: StatTileProps) {
  return (
    <Card padding="md" style={{ containerType: 'inline-size' }}>
      <Text size="sm" c="dimmed">
        {link === undefined ? label : <TextLink {...link}>{label}</TextLink>}
      </Text>
      <Text fw={650} lh={1.2} mt={2} className="stat-value" {...(color !== undefined && { c: color })}>
        {typeof value === 'string' ? (
          <span className="tabular" style={lengthOf(value)}>
            {value}
          </span>
        ) : (
          value
        )}
      </Text>
      {chart}
      {note !== undefined && (
        <Text size="xs" c="dimmed" mt={4} component="div">
          {note}
        </Text>
      )}
    </Card>
  );
}

/** For the size of a text that must fit in a tile. */
export function lengthOf(text: string): CSSProperties {
  return { '--characters': text.length } as CSSProperties;
}

export interface EmptyStateProps {
  icon: IconName;
  title: string;
  text: ReactNode;
  /** A button or a link. False: the role cannot do what the text advises, which is left out. */
  action?: ReactNode;
}

export function EmptyState({ icon, title, text, action }: EmptyStateProps) {
  return (
    <Card p="xl">
      <Stack align="center" gap="sm" maw={520} mx="auto" ta="center">
        <ThemeIcon variant="light" size={48} radius="xl">
          <Icon name={icon} sizePx={26} />
        </ThemeIcon>
        <Text fw={600}>{title}</Text>
        {action !== false && (
          <Text c="dimmed" size="sm" component="div">
            {text}
          </Text>
        )}
        {action !== undefined && action !== false && <Group justify="center">{action}</Group>}
      </Stack>
    </Card>
  );
}

export function PublicFrame({ children }: { children: ReactNode }) {
  useEffect(refuseSearch, []);
  return (
    <Center mih="100dvh" p="md" component="main" id="content">
      <Stack w="100%" maw={420} gap="lg">
        <Center>
          <Logo />
        </Center>
        {children}
        <PublicFooter hasLinks />
      </Stack>
    </Center>
  );
}

/** The frame of pages to read before sign-in. */
export function ReadingFrame({ children }: { children: ReactNode }) {
  useEffect(refuseSearch, []);
  return (
    <Stack maw={960} mih="100dvh" mx="auto" p="md" gap="lg">
      <Group component="header" justify="space-between" gap="sm">
        <TextLink to="/" underline="never" c="inherit" miw={0}>
          <Logo />
        </TextLink>
        <Group component="nav" aria-label="Pages" gap="sm">
          <PublicLinks />
          <ButtonLink label="Sign in" to="/sign-in" variant="default" size="sm" />
        </Group>
      </Group>
      <Box component="main" id="content" flex={1}>
        {children}
      </Box>
      <PublicFooter />
    </Stack>
  );
}

interface FailureNoticeProps {
  failure: unknown;
  title?: string;
  onRetry?: () => void;
}

export function FailureNotice({ failure, title = 'Request failed', onRetry }: FailureNoticeProps) {
  if (failure === null || failure === undefined) return null;
  const faults = failure instanceof ApiFailure ? failure.faults : [];
  return (
    <Alert color="red" title={title} icon={<Icon name="warning" />} role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{failureText(failure)}</Text>
        {faults.length > 1 && (
          <List size="sm">
            {faults.map(({ path, message }) => (
              <List.Item key={`${path.join('.')} ${message}`}>
                {path.length > 0 && <Code>{path.join('.')}</Code>} {message}
              </List.Item>
            ))}
          </List>
        )}
        {failure instanceof ApiFailure && failure.requestId !== null && (
          <Hint size="xs">{`Request ${failure.requestId}`}</Hint>
        )}
        {onRetry !== undefined && (
          <ActionButton label="Retry" size="xs" variant="light" color="red" onClick={onRetry} />
        )}
      </Stack>
    </Alert>
  );
}

export function failureText(failure: unknown): string {
  if (failure instanceof ApiFailure && failure.code === 'unreachable') return UNREACHABLE;
  const [fault, ...others] = failure instanceof ApiFailure ? failure.faults : [];
  if (fault?.path.length === 1 && others.length === 0) return faultSentence(fault.path, fault.message);
  return failure instanceof Error ? failure.message : String(failure);
}

interface PageFailureProps {
  failure: unknown;
  onRetry: () => void;
}

export function PageFailure({ failure, onRetry }: PageFailureProps) {
  // An invalid id returns 400. Objects of other accounts return 404.
  if (failure instanceof ApiFailure && (failure.status === 404 || failure.status === 400)) return <MissingPage />;
  return (
    <>
      <PageHead title="This page failed to load" />
      <FailureNotice failure={failure} onRetry={onRetry} />
    </>
  );
}

export function MissingPage() {
  return (
    <Stack align="flex-start" gap={0}>
      <PageHead title="Page not found" />
      <Text mb="md">The address may be outdated, or you may not have access.</Text>
      <ButtonLink label="Go to overview" to="/" />
    </Stack>
  );
}

export function Loading({ rowCount = 5 }: { rowCount?: number }) {
  return (
    <Stack gap="sm" p="md" aria-busy="true">
      <VisuallyHidden>Loading…</VisuallyHidden>
      {Array.from({ length: rowCount }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the placeholders are identical
        <Skeleton key={at} height={at === 0 ? 28 : 18} width={at === 0 ? '40%' : '100%'} />
      ))}
    </Stack>
  );
}
