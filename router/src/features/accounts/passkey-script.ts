/**
 * The script that a person runs in the developer console of a browser at https://web.whatsapp.com, the only origin where
 * a browser signs with a passkey of WhatsApp. It shows a button, because browsers want a click before they sign and copy,
 * and then the answer. It sends nothing.
 * @param options PublicKeyCredentialRequestOptions as JSON, base64url in place of bytes
 */
export function passkeyScript(options: string): string {
  return `(${SCRIPT.trim()})(${JSON.stringify(JSON.parse(options))});`;
}

const SCRIPT = `
async (options) => {
  const isSpanish = navigator.language.startsWith('es');
  const bytesOf = (text) =>
    Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (letter) => letter.charCodeAt(0));
  const textOf = (bytes) =>
    btoa(String.fromCharCode(...new Uint8Array(bytes)))
      .replace(/[+]/g, '-').replace(/[/]/g, '_').replace(/=+$/, '');
  const dialog = document.createElement('dialog');
  const add = (tag, text) => {
    const element = document.createElement(tag);
    element.textContent = text;
    element.style.cssText = 'display:block;width:100%;margin:0 0 12px;padding:8px;font:16px sans-serif;color:#111;box-sizing:border-box';
    if (tag === 'button') element.style.cssText += ';background:#0a6f4d;color:#fff;border:0;border-radius:8px;cursor:pointer';
    dialog.append(element);
    return element;
  };
  dialog.style.cssText = 'width:min(420px,90vw);padding:20px;border:0;border-radius:12px;background:#fff';
  add('p', isSpanish ? 'wa2ai: vincular con su llave de acceso de WhatsApp' : 'wa2ai: link with your WhatsApp passkey');
  const button = add('button', isSpanish ? 'Usar la llave de acceso' : 'Use passkey');
  const note = add('p', '');
  document.body.append(dialog);
  dialog.showModal();
  let answer;
  button.onclick = async () => {
    try {
      if (answer) {
        await navigator.clipboard.writeText(answer);
        note.textContent = isSpanish ? 'Copiada. Péguela en wa2ai.' : 'Copied. Paste it in wa2ai.';
        return;
      }
      const publicKey = {
        ...options,
        challenge: bytesOf(options.challenge),
        allowCredentials: (options.allowCredentials || []).map((each) => ({ ...each, id: bytesOf(each.id) })),
      };
      const { id, rawId, type, response } = await navigator.credentials.get({ publicKey });
      answer = JSON.stringify({
        id,
        rawId: textOf(rawId),
        type,
        response: {
          clientDataJSON: textOf(response.clientDataJSON),
          authenticatorData: textOf(response.authenticatorData),
          signature: textOf(response.signature),
          userHandle: response.userHandle ? textOf(response.userHandle) : null,
        },
      });
      button.textContent = isSpanish ? 'Copiar la respuesta' : 'Copy the answer';
      note.textContent = '';
      const area = add('textarea', answer);
      area.readOnly = true;
      area.rows = 5;
      area.setAttribute('aria-label', isSpanish ? 'Respuesta' : 'Answer');
    } catch (error) {
      note.textContent = String(error.message || error);
    }
  };
}
`;
