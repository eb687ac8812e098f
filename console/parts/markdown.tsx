// A text as Markdown: a response, or what the operator wrote for a public page. The text is untrusted: HTML in it stays text, links lead only to the web and to
// mail, images are not loaded, and no element gets an id.

import { Box, Text } from '@mantine/core';
import { Markdown as Parsed } from 'markdown-to-jsx/react';
import { type ComponentPropsWithoutRef, memo, type ReactNode, useDeferredValue } from 'react';
import { CodeBlock } from './code-block.tsx';
import { ExternalLink } from './link.tsx';

/** The time to parse grows faster than the text, so longer texts are shown as they are. */
const MARKDOWN_CHARACTERS_MAX = 100_000;
/** Lists or quotes nested this deep take seconds to parse. */
const NESTED_TOO_DEEP = /^(?:[ \t]{60,}(?:[-*+]|\d+[.)])|(?:[ \t]*>){30,})/m;

const SAFE_PROTOCOLS = ['http:', 'https:', 'mailto:'];

/** The address of a link, or null if it must not be one. */
function safeAddress(text: string | null | undefined): string | null {
  const url = URL.parse(text ?? '');
  return url !== null && SAFE_PROTOCOLS.includes(url.protocol) ? url.href : null;
}

export function MarkdownText({ text }: { text: string }) {
  // A long response must not delay typing while it grows.
  const shown = useDeferredValue(text);
  if (shown.length > MARKDOWN_CHARACTERS_MAX || NESTED_TOO_DEEP.test(shown))
    return (
      <Text size="sm" component="div" className="written">
        {shown}
      </Text>
    );
  return <ParsedText text={shown} />;
}

const ParsedText = memo(({ text }: { text: string }) => (
  <Box className="markdown" fz="sm">
    <Parsed options={options}>{text}</Parsed>
  </Box>
));

type Shown = { children?: ReactNode };

function SafeLink({ href, children }: Shown & { href?: string }) {
  const address = safeAddress(href);
  if (address === null) return <span>{children}</span>;
  return (
    <ExternalLink href={address} className="wrap" underline="always">
      {children}
    </ExternalLink>
  );
}

/** Loading an image would tell its host who reads the response. */
function ImageLink({ src, alt = '' }: { src?: string; alt?: string }) {
  const text = alt === '' ? 'Image' : `Image: ${alt}`;
  return src === undefined ? <span>{text}</span> : <SafeLink href={src}>{text}</SafeLink>;
}

/** The headings of the page are its own. */
function TextHeading({ children }: Shown) {
  return (
    <Text fw={650} mt="sm" mb={4}>
      {children}
    </Text>
  );
}

function WideTable({ children }: Shown) {
  return (
    <Box tabIndex={0} style={{ overflowX: 'auto' }}>
      <table>{children}</table>
    </Box>
  );
}

function TaskMark({ checked = false }: { checked?: boolean }) {
  return <span>{checked ? '☑' : '☐'}</span>;
}

/** Footnotes would bring ids and links within the page. */
function Plain({ children }: Shown) {
  return <div>{children}</div>;
}

function Fenced({ children }: ComponentPropsWithoutRef<'pre'>) {
  return <CodeBlock code={textWithin(children).replace(/\n$/, '')} />;
}

/** The text of a code block, which is one string within an element. */
function textWithin(node: ReactNode): string {
  if (typeof node === 'string') return node;
  if (Array.isArray(node)) return node.map(textWithin).join('');
  if (typeof node !== 'object' || node === null || !('props' in node)) return '';
  return textWithin((node.props as Shown).children);
}

const heading = { component: TextHeading };
const options = {
  disableParsingRawHTML: true,
  forceBlock: true,
  preserveFrontmatter: true,
  sanitizer: (value: string) => safeAddress(value),
  overrides: {
    a: { component: SafeLink },
    img: { component: ImageLink },
    pre: { component: Fenced },
    table: { component: WideTable },
    input: { component: TaskMark },
    div: { component: Plain },
    footer: { component: Plain },
    ...{ h1: heading, h2: heading, h3: heading, h4: heading, h5: heading, h6: heading },
  },
};
