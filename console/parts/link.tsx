// Icons, buttons, links to pages of the console, and the paths of objects.

import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ComponentPropsWithoutRef, ReactNode } from 'react';

/** A page below /console with its filters. */
export interface Place {
  to: string;
  search?: Record<string, string> | undefined;
}

interface TextLinkProps extends Place, AnchorProps {
  title?: string;
  children: ReactNode;
}

export const pathOf = {
  account: (id: string) => `/accounts/${id}`,
  batch: (id: string) => `/batches/${id}`,
  codeBatch: (id: string) => `/codes/${id}`,
  key: (id: string) => `/keys/${id}`,
  delivery: (id: string) => `/deliveries/${id}`,
  destination: (id: string) => `/destinations/${id}`,
  export: (id: string) => `/exports/${id}`,
  model: (name: string) => `/models/${encodeURIComponent(name)}`,
  providerBill: (id: string) => `/provider-bills/${encodeURIComponent(id)}`,
  provider: (name: string) => `/providers/${encodeURIComponent(name)}`,
  request: (id: string) => `/usage/${id}`,
};

export function TextLink({ to, search, children, ...anchor }: TextLinkProps) {
  return (
    <Anchor component={Link} inherit={anchor.size === undefined} to={to} search={untyped(search)} {...anchor}>
      {children}
    </Anchor>
  );
}

/** Opens a page of another site in a new tab, which learns nothing of this one. */
export function ExternalLink({ href, children, ...anchor }: AnchorProps & { href: string; children: ReactNode }) {
  return (
    <Anchor href={href} target="_blank" rel="noopener noreferrer" size="sm" {...anchor}>
      {children}
    </Anchor>
  );
}

interface Labelled extends Omit<ButtonProps, 'leftSection'> {
  label: ReactNode;
  icon?: IconName | undefined;
}

type ActionButtonProps = Labelled &
  Omit<ComponentPropsWithoutRef<'button'>, keyof ButtonProps | 'children'> & {
    /** The main action of its page or form. */
    isPrimary?: boolean;
  };

export function ActionButton({ label, icon, isPrimary = false, ...button }: ActionButtonProps) {
  return (
    <Button variant={isPrimary ? 'filled' : 'default'} leftSection={icon && <Icon name={icon} />} {...button}>
      {label}
    </Button>
  );
}

export function ButtonLink({ to, search, label, icon, ...button }: Place & Labelled) {
  return (
    <Button component={Link} to={to} search={untyped(search)} leftSection={icon && <Icon name={icon} />} {...button}>
      {label}
    </Button>
  );
}

/** Goes to a page; `isReplacing` replaces the current entry of the browser history. */
export function useGoTo(): (to: string, search?: Record<string, string>, isReplacing?: boolean) => Promise<void> {
  const navigate = useNavigate();
  return (to, search = {}, isReplacing = false) => navigate({ to, search: untyped(search), replace: isReplacing });
}

/** The table of pages has no static type of the router, which therefore accepts no search parameters. */
function untyped(search: Record<string, string> = {}): never {
  return search as never;
}

const paths = {
  bell: 'M6 17v-6a6 6 0 0 1 12 0v6M4 17h16M10.5 20.500h3',
  book: 'M5 4h10a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h10M9 8h5',
  building: 'M4 20V6l8-3v17M12 9l8 2v9M3 20h18M7 9h2M7 13h2M15 14h2M15 17h2',
  calendar: 'M4 6h16v14H4zM4 10h16M8 3v5M16 3v5',
  card: 'M3 6h18v12H3zM3 10h18M7 15h4',
  check: 'M5 12.5l4.5 4.5L19 7',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  cross: 'M6 6l12 12M18 6L6 18',
  cube: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  down: 'M6 9l6 6 6-6',
  download: 'M12 4v11M7.5 11l4.5 4.5L16.5 11M5 20h14',
  gauge: 'M4 18a9 9 0 1 1 16 0M12 15l4-5M4 18h16',
  gift: 'M4 11h16v9H4zM3 7h18v4H3zM12 7v13M12 7c-5 0-5-4-2.500-4S12 7 12 7c0-1 0-4 2.500-4S17 7 12 7',
  history: 'M4 12a8 8 0 1 0 2.5-5.8M4 4v4h4M12 8v4l3 2',
  key: 'M14 10a5 5 0 1 1-3-3l8-4v4l-2 1v2h-2zM8 13.5v.01',
  layers: 'M12 4l9 5-9 5-9-5zM4 13.5l8 4.5 8-4.5',
  leave: 'M14 5H6v14h8M11 12h10M17.5 8.5L21 12l-3.5 3.5',
  list: 'M8 6h12M8 12h12M8 18h12M4 6v.01M4 12v.01M4 18v.01',
  pencil: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-4 2.5-6 6-6s6 2 6 6M16 4.6a3.5 3.5 0 0 1 0 6M18 14.4c2 .7 3 2.6 3 5.6',
  percent: 'M6 18L18 6M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM16 18a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 20c0-4 3-6 7-6s7 2 7 6',
  play: 'M8 5v14l11-7z',
  plug: 'M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4',
  plus: 'M12 5v14M5 12h14',
  print: 'M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z',
  refresh: 'M20 12a8 8 0 1 1-2.5-5.8M20 4v4h-4',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l4.5 4.5',
  send: 'M4 11.500L20 4l-5 16-4-6.500zM11 13.500L20 4',
  shield: 'M12 3l8 3v5c0 5-3.4 8.4-8 10-4.600-1.600-8-5-8-10V6z',
  sliders: 'M4 7h9M17 7h3M15 5v4M4 12h3M11 12h9M9 10v4M4 17h11M19 17h1M17 15v4',
  stop: 'M6 6h12v12H6z',
  ticket: 'M4 8V6h16v4a2 2 0 0 0 0 4v4H4v-4a2 2 0 0 0 0-4zM14 6v12',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5',
  up: 'M6 15l6-6 6 6',
  wallet: 'M4 7h14a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2H4zM4 7l11-4v4M16 13.5v.01',
  warning: 'M12 4l9 16H3zM12 10v4M12 17v.01',
} as const;

export type IconName = keyof typeof paths;

/** Decorative: hidden from screen readers. */
export function Icon({ name, sizePx = 18 }: { name: IconName; sizePx?: number }) {
  return (
    <svg
      width={sizePx}
      height={sizePx}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}
