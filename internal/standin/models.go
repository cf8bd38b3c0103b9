package standin

import (
	"regexp"
	"strconv"
	"strings"
)

// generationName matches the names of OpenAI's models with a generation, such as "gpt-5.4-mini".
var generationName = regexp.MustCompile(`^gpt-(\d+)(?:\.(\d+))?`)

// seriesName matches the names of OpenAI's o-series, such as "o3-mini".
var seriesName = regexp.MustCompile(`^o\d`)

// generation returns the generation of one of OpenAI's models in tenths: 54 for "gpt-5.4-mini". It returns 0 for other models and
// for models of ChatGPT, such as "gpt-5-chat-latest".
func generation(model string) int {
	found := generationName.FindStringSubmatch(model)
	if found == nil || strings.Contains(model, "-chat") {
		return 0
	}
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2]) // 0 if there is none
	return 10*major + min(minor, 9)
}

// reasons reports whether one of OpenAI's models is a reasoning model.
func reasons(model string) bool { return seriesName.MatchString(model) || generation(model) >= 50 }
