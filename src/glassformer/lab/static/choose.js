// The exported lab's first page: it goes on to the reader's language. Its links do without this.

const speaksChinese = (navigator.languages ?? [navigator.language]).map((tag) => tag.toLowerCase()).find((tag) => /^(zh|en)\b/.test(tag))?.startsWith("zh");
location.replace(document.querySelector(`[data-language=${speaksChinese ? "zh" : "en"}]`).href);
