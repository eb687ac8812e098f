// A link within text or a table, to a page of the console.

import { Anchor, type AnchorProps } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

interface TextLinkProps extends AnchorProps {
  /** Below /console: "/keys". Ids in it are of the API. */
  to: string;
  search?: Record<string, string>;
  children: ReactNode;
}

export function TextLink({ to, search, children, ...anchor }: TextLinkProps) {
  return (
    <Anchor component={Link} inherit to={to} {...(search !== undefined && { search: search as never })} {...anchor}>
      {children}
    </Anchor>
  );
}
