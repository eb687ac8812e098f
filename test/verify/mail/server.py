"""An SMTP server with STARTTLS and a password, which it requires in this order. Prints its port, then each mail in one line of JSON."""

import asyncio
import email
import email.policy
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


class Handler:
    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        text = message.get_body(("plain",))
        html = message.get_body(("html",))
        print(
            json.dumps(
                {
                    "from": envelope.mail_from,
                    "to": envelope.rcpt_tos,
                    "is_tls": session.ssl is not None,
                    "is_authenticated": session.authenticated,
                    "headers": {name.lower(): str(value) for name, value in message.items()},
                    "defects": [str(defect) for part in message.walk() for defect in part.defects],
                    "text": text.get_content() if text else "",
                    "html": html.get_content() if html else "",
                }
            ),
            flush=True,
        )
        return "250 queued"


def authenticate(server, session, envelope, mechanism, data):
    is_right = (data.login, data.password) == (b"user@example.com", b"p%ss/word")
    return AuthResult(success=is_right)


async def main(certificate, key):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    loop = asyncio.get_running_loop()

    def make():
        return SMTP(
            Handler(),
            hostname="localhost",
            tls_context=context,
            require_starttls=True,
            authenticator=authenticate,
            auth_required=True,
        )

    server = await loop.create_server(make, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main(*sys.argv[1:3]))
