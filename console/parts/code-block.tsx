// Code to copy, and a copy button.

import { Box, type ButtonProps, Code } from '@mantine/core';
import { useTimeout } from '@mantine/hooks';
import { useState } from 'react';
import { ActionButton } from './link.tsx';

interface CodeBlockProps {
  code: string;
  label?: string;
  heightMaxPx?: number;
  onCopied?: () => void;
}

export function CodeBlock({ code, label, heightMaxPx, onCopied }: CodeBlockProps) {
  return (
    <Box pos="relative">
      <Box pos="absolute" top={6} right={6} className="no-print">
        <CopyButton text={code} {...(label !== undefined && { label })} {...(onCopied !== undefined && { onCopied })} />
      </Box>
      <Code
        block
        tabIndex={0}
        pt={44}
        style={{ overflow: 'auto', ...(heightMaxPx !== undefined && { maxHeight: heightMaxPx }) }}
      >
        {code}
      </Code>
    </Box>
  );
}

interface CopyButtonProps extends ButtonProps {
  text: string;
  label?: string;
  /** Called when the text is in the clipboard. */
  onCopied?: () => void;
}

const SHOWN_MS = 2_000;

export function CopyButton({ text, label = 'Copy', onCopied, ...button }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  const { start } = useTimeout(() => setCopied(false), SHOWN_MS);
  const copy = async () => {
    if (!(await copyText(text))) return;
    setCopied(true);
    start();
    onCopied?.();
  };
  return (
    <ActionButton
      label={isCopied ? 'Copied' : label}
      size="xs"
      icon={isCopied ? 'check' : 'copy'}
      onClick={() => void copy()}
      {...button}
    />
  );
}

/** The clipboard API is available over TLS and on localhost only, and browsers can refuse it. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const place = document.createElement('textarea');
  place.value = text;
  // Within an open dialog, so that it may have the focus.
  (document.activeElement?.parentElement ?? document.body).append(place);
  place.select();
  const isCopied = document.execCommand('copy');
  place.remove();
  return isCopied;
}
