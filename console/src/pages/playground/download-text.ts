/** Lets the browser save a text as a file. */
export function downloadText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/yaml' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replace(/[^\p{L}\p{N}. _-]/gu, '_');
  link.click();
  URL.revokeObjectURL(url);
}
