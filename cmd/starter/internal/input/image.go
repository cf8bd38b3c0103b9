package input

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

// Images returns the images of a message. Each argument is a web address or the name of a file. A web address stays as it
// is. A file becomes a data: URL with the content of the file. The error has the code [exit.Usage] if a file cannot be read,
// is larger than [agent.MaxImageBytes], or is not an image.
func Images(names []string) ([]string, error) {
	var images []string
	for _, name := range names {
		if strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://") {
			images = append(images, name)
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, exit.Errorf(exit.Usage, "--image: the file cannot be read: %w; name an image file or a web address", err)
		}
		if info.Size() > agent.MaxImageBytes {
			return nil, exit.Errorf(exit.Usage, "--image: %s has %d bytes; the limit is %d: make it smaller, or give its web address", name, info.Size(), agent.MaxImageBytes)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, exit.Errorf(exit.Usage, "--image: the file cannot be read: %w; name an image file or a web address", err)
		}
		kind := http.DetectContentType(data)
		if !strings.HasPrefix(kind, "image/") {
			return nil, exit.Errorf(exit.Usage, "--image: %s is not an image (its content is %s): use PNG, JPEG, GIF or WebP", name, kind)
		}
		images = append(images, fmt.Sprintf("data:%s;base64,%s", kind, base64.StdEncoding.EncodeToString(data)))
	}
	return images, nil
}
