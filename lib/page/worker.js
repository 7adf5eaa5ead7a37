// @ts-check
// Beside the page.
self.onmessage = () => self.postMessage(null);
